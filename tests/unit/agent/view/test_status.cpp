#include "agent/view/status.hpp"

#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

// FakeBoard begins at 1970-01-12 13:46:40 UTC.
test::FakeBoard board_with_a_schedule() {
  test::FakeBoard board(test::small_board());
  core::TaskSpec nightly = test::small_task("night", 0, 0.01);
  nightly.every.window = *core::parse_weekly_window("22:00-06:00 daily");
  board.submit(nightly);
  return board;
}

json::Value told(test::FakeBoard& board) {
  return recurring_json(board.state, board.state.recurring.at(0), board.now());
}

}  // namespace

TEST(a_schedule_tells_when_its_next_run_begins_and_ends_at_the_latest) {
  test::FakeBoard board = board_with_a_schedule();
  const json::Value row = told(board);
  constexpr double kUntilBegin = 8.0 * 3600.0 + 13.0 * 60.0 + 20.0;
  TEST_ASSERT_EQUAL_DOUBLE(kUntilBegin, row.find("recurs")->find("next_in_s")->as_double());
  TEST_ASSERT_EQUAL_DOUBLE(kUntilBegin + 8.0 * 3600.0, row.find("deadline_in_s")->as_double());
}

TEST(a_schedule_whose_next_run_is_not_known_has_no_deadline) {
  test::FakeBoard paused = board_with_a_schedule();
  paused.tell(core::PauseRequested{1, "night"});
  TEST_ASSERT_TRUE(told(paused).find("deadline_in_s")->is(json::Kind::kNull));
  test::FakeBoard waiting = board_with_a_schedule();
  waiting.tell(core::DrainRequested{1, true});
  waiting.run_for(9 * kHour);
  TEST_ASSERT_TRUE(waiting.state.recurring.at(0).waiting);
  TEST_ASSERT_TRUE(told(waiting).find("deadline_in_s")->is(json::Kind::kNull));
  test::FakeBoard doubting = board_with_a_schedule();
  doubting.run_for(9 * kHour);
  doubting.set_clock(-5 * kDay);
  TEST_ASSERT_TRUE(doubting.state.recurring.at(0).back_since > 0);
  TEST_ASSERT_TRUE(told(doubting).find("deadline_in_s")->is(json::Kind::kNull));
}
