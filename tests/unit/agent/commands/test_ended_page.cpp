#include "agent/commands/ended_page.hpp"

#include <cmath>

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;
using json::Kind;
using json::Value;
using test::FakeBoard;

namespace {

std::string text(const Value& row, const char* key) {
  return row.find(key, Kind::kString)->as_string();
}
const std::vector<Value>& rows(const Value& page) { return page.find("ended")->items(); }
bool more(const Value& page) { return page.find("more")->as_bool(); }

void cancel_tasks(FakeBoard& board, int count, const std::string& prefix) {
  for (int i = 0; i < count; ++i) {
    const std::string name = prefix + std::to_string(i);
    board.submit(test::small_task(name, kHour, 0.001));
    board.run_for(kSecond);
    board.tell(core::CancelRequested{9, name});
    board.run_for(20 * kSecond);
  }
}

}  // namespace

TEST(tells_the_latest_first_with_what_became_of_them) {
  FakeBoard board(test::small_board());
  cancel_tasks(board, 2, "t-");
  const Value page = ended_page(board.state, 0, std::nullopt);
  TEST_ASSERT_EQUAL_UINT(2, rows(page).size());
  TEST_ASSERT_FALSE(more(page));
  TEST_ASSERT_EQUAL_STRING("t-1", text(rows(page)[0], "name").c_str());
  TEST_ASSERT_EQUAL_STRING("cancelled", text(rows(page)[0], "state").c_str());
  TEST_ASSERT_TRUE(text(rows(page)[0], "why").find("cancelled") != std::string::npos);
  TEST_ASSERT_TRUE(rows(page)[0].find("margin_s")->as_double() > 0.0);
}

TEST(leaves_out_what_ended_before_and_what_was_put_away) {
  FakeBoard board(test::small_board());
  cancel_tasks(board, 2, "t-");
  const TimeNs ended = board.state.ended.back()->ended_at + board.state.wall_minus_agent;
  const Value late = ended_page(board.state, ended / kMillisecond, std::nullopt);
  TEST_ASSERT_EQUAL_UINT(1, rows(late).size());
  board.tell(core::RemoveRequested{9, "t-1"});
  const Value page = ended_page(board.state, 0, std::nullopt);
  TEST_ASSERT_EQUAL_UINT(1, rows(page).size());
  TEST_ASSERT_EQUAL_STRING("t-0", text(rows(page)[0], "name").c_str());
}

TEST(pages_join_up_to_all_of_them_each_once) {
  FakeBoard board(test::small_board());
  cancel_tasks(board, 150, "a-task-with-a-long-name-");
  std::optional<core::TaskKey> before;
  std::size_t all = 0;
  int pages = 0;
  core::TaskKey last = UINT32_MAX;
  for (; pages < 20; ++pages) {
    const Value page = ended_page(board.state, 0, before);
    TEST_ASSERT_TRUE(json::to_text(page).size() < kEndedPageBytesMax + 256);
    for (const Value& row : rows(page)) {
      const auto key = static_cast<core::TaskKey>(row.find("key")->as_integer());
      TEST_ASSERT_TRUE(key < last);
      last = key;
      ++all;
    }
    if (!more(page)) break;
    before = last;
  }
  TEST_ASSERT_EQUAL_UINT(150, all);
  TEST_ASSERT_TRUE(pages >= 1);
}
