#include "tests/unit/agent/driver/one_board.hpp"

using namespace laird;
using test::OneBoard;

namespace {

[[nodiscard]] TimeNs wall_as_journalled(const OneBoard& board) {
  const core::State& state = board.agent->state();
  return state.now + state.wall_minus_agent;
}

}  // namespace

TEST(a_process_frozen_between_two_clocks_still_tells_the_right_time) {
  OneBoard board("", 5 * kSecond);
  TEST_ASSERT_EQUAL_INT64(board.clock.wall, wall_as_journalled(board));
}

TEST(a_frozen_process_takes_no_jump_of_the_clock_for_one) {
  OneBoard board;
  const TimeNs off = board.agent->state().wall_minus_agent;
  board.clock.pass(kMinute);
  board.clock.stall = 5 * kSecond;
  board.agent->look_at_clock();
  board.agent->process();
  TEST_ASSERT_EQUAL_INT64(off, board.agent->state().wall_minus_agent);
  board.clock.wall += kHour;
  board.agent->look_at_clock();
  board.agent->process();
  TEST_ASSERT_EQUAL_INT64(off + kHour, board.agent->state().wall_minus_agent);
}
