#include "control/provision/waves.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::control;

namespace {

void check(const char* text, std::size_t boards, const std::vector<std::size_t>& expected) {
  const auto waves = waves_of(text, boards);
  TEST_ASSERT_TRUE_MESSAGE(waves.has_value(), text);
  TEST_ASSERT_TRUE_MESSAGE(*waves == expected, text);
}

}  // namespace

TEST(waves_grow_to_all_boards) {
  check("1,5%,25%,all", 500, {1, 25, 125, 500});
  check("1,5%,25%,all", 20, {1, 5, 20});
  check("1,5%,25%,all", 2, {1, 2});
  check("1", 3, {1, 3});  // what is left comes last, said or not
  check("7", 3, {3});
  check("3,1,2", 5, {3, 5});
  check("100%", 4, {4});
  check("1%", 1, {1});
}

TEST(what_is_no_wave_is_refused) {
  for (const char* text : {"", "0", "-1", "101%", "%", "1,,2", "1,", "most", "1 ,2", "9999999"}) {
    TEST_ASSERT_FALSE_MESSAGE(waves_of(text, 10).has_value(), text);
  }
}
