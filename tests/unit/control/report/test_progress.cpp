#include "control/report/progress.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::control;

namespace {

struct Told {
  explicit Told(bool terminal)
      : progress([this] { return now; }, [this](const std::string& text) { all += text; },
                 terminal) {}
  TimeNs now = 100 * kSecond;
  std::string all;
  Progress progress;
};

}  // namespace

TEST(a_file_gets_a_line_after_a_second_and_then_one_every_five) {
  Told told(false);
  for (std::uint64_t i = 0; i < 130; ++i) {
    told.progress.see("a\x1b[2Jb", i);
    told.now += 100 * kMillisecond;
  }
  told.progress.clear();
  TEST_ASSERT_EQUAL_STRING("a [2Jb: 10 events\na [2Jb: 60 events\na [2Jb: 110 events\n",
                           told.all.c_str());
}

TEST(a_terminal_has_one_line_that_goes_away) {
  Told told(true);
  told.progress.see("n-1", 1);
  TEST_ASSERT_EQUAL_STRING("", told.all.c_str());
  told.now += 2 * kSecond;
  told.progress.see("n-1", 2);
  told.progress.see("n-1", 3);
  told.progress.clear();
  told.progress.clear();
  TEST_ASSERT_EQUAL_STRING("\r\033[Kn-1: 2 events\r\033[K", told.all.c_str());
}
