// What a task's time goes to: every nanosecond once, under the right name.
#include "agent/core/step/time_sheet.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;

namespace {

// A target that nobody reaches, on the cpu.
TaskSpec endless(const std::string& name, DurationNs deadline = kHour) {
  return test::small_task(name, deadline, 1e-9);
}

const TimeSheet& sheet_of(const FakeBoard& board, const std::string& name) {
  const Task* task = board.task(name);
  TEST_ASSERT_NOT_NULL(task);
  const TimeNs until = task->state == TaskState::kEnded ? task->ended_at : board.state.now;
  TEST_ASSERT_EQUAL_INT64(until - task->accepted_at, task->time_sheet.total());
  return task->time_sheet;
}

DurationNs waited_for(const FakeBoard& board, const std::string& name, const std::string& rival,
                      TimeUse use = TimeUse::kRival) {
  const TaskKey key = board.task(rival)->key;
  for (const TimeSheetLine& line : sheet_of(board, name).lines()) {
    if (line.key == UseKey{use, {}, key}) return line.ns;
  }
  return 0;
}

const TimeSheetLine* throttled(const FakeBoard& board, const std::string& name, Throttler by) {
  for (const TimeSheetLine& line : sheet_of(board, name).lines()) {
    if (line.key == UseKey{TimeUse::kThrottled, by, 0}) return &line;
  }
  return nullptr;
}

void crash(FakeBoard& board, const std::string& name, const EventBody& last_word) {
  board.tell(last_word);
  TEST_ASSERT_EQUAL(static_cast<int>(TaskState::kBackoff),
                    static_cast<int>(board.task(name)->state));
}

}  // namespace

TEST(a_task_alone_starts_and_then_runs_all_the_time) {
  FakeBoard board(test::small_board());
  board.submit(endless("alone"));
  board.run_for(10 * kSecond);
  const TimeSheet& sheet = sheet_of(board, "alone");
  TEST_ASSERT_EQUAL_INT64(100 * kMillisecond, sheet.of(TimeUse::kStarting));
  TEST_ASSERT_EQUAL_INT64(sheet.total() - 100 * kMillisecond, sheet.of(TimeUse::kRunning));
}

TEST(the_time_that_a_lane_is_held_goes_to_the_task_that_holds_it) {
  FakeBoard board(test::small_board());
  board.submit(endless("one"));
  board.submit(endless("two"));
  board.run_for(20 * kSecond);
  const DurationNs waited = waited_for(board, "one", "two");
  TEST_ASSERT_TRUE(waited > 8 * kSecond && waited < 12 * kSecond);
  // They take turns: what one waits for the other, the other runs.
  TEST_ASSERT_TRUE(sheet_of(board, "two").of(TimeUse::kRunning) >= waited);
}

TEST(tasks_that_share_a_lane_have_their_part_of_it_and_wait_for_the_rest) {
  FakeBoard board(test::small_board("uniform"));
  board.submit(endless("one"));
  board.submit(endless("two"));
  board.run_for(20 * kSecond);
  const TimeSheet& sheet = sheet_of(board, "one");
  const DurationNs waited = waited_for(board, "one", "two");
  TEST_ASSERT_TRUE(waited > 9 * kSecond);
  TEST_ASSERT_TRUE(sheet.of(TimeUse::kRunning) > 9 * kSecond);
}

TEST(a_rest_under_the_fleets_share_of_the_lanes_is_throttled_time) {
  FakeBoard board(test::small_board());
  board.submit(endless("held"));
  board.run_for(kSecond);
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kCpu, 250'000);
  board.tell(Ticked{});
  board.run_for(20 * kSecond);
  const TimeSheetLine* line = throttled(board, "held", Throttler::kFleetTime);
  TEST_ASSERT_NOT_NULL(line);
  TEST_ASSERT_TRUE(line->ns > 13 * kSecond && line->ns < 17 * kSecond);
  TEST_ASSERT_EQUAL_INT64(250'000, line->limit_low);
  TEST_ASSERT_EQUAL_INT64(250'000, line->limit_high);
  const auto now = throttled_now(board.state, *board.task("held"));
  TEST_ASSERT_TRUE(now && now->by == Throttler::kFleetTime);
}

TEST(the_rest_of_anothers_turn_is_that_rivals_and_ones_own_is_throttled) {
  FakeBoard board(test::small_board());
  board.submit(endless("one"));
  board.submit(endless("two"));
  board.run_for(kSecond);
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kCpu, 500'000);
  board.tell(Ticked{});
  board.run_for(40 * kSecond);
  const TimeSheet& sheet = sheet_of(board, "one");
  // Half the time is the other's turn; half of the own turn is rest.
  TEST_ASSERT_INT64_WITHIN(4 * kSecond, 20 * kSecond, waited_for(board, "one", "two"));
  TEST_ASSERT_INT64_WITHIN(4 * kSecond, 10 * kSecond, sheet.of(TimeUse::kThrottled));
  TEST_ASSERT_INT64_WITHIN(4 * kSecond, 10 * kSecond, sheet.of(TimeUse::kRunning));
}

TEST(a_task_that_runs_without_a_limit_is_not_throttled) {
  FakeBoard board(test::small_board());
  board.submit(endless("free"));
  board.run_for(2 * kSecond);
  TEST_ASSERT_FALSE(throttled_now(board.state, *board.task("free")).has_value());
}

TEST(a_crash_costs_the_wait_the_new_start_and_the_work_since_the_last_checkpoint) {
  CoreConfig config = test::small_board();
  config.timing.checkpoint_every = kHour;
  FakeBoard board(config);
  board.submit(endless("fragile"));
  board.run_for(5 * kSecond);
  TEST_ASSERT_TRUE(sheet_of(board, "fragile").of(TimeUse::kRunning) > 4 * kSecond);
  crash(board, "fragile", TrainerFailed{board.task("fragile")->process(), "no such column"});
  const TimeSheet& after = sheet_of(board, "fragile");
  TEST_ASSERT_EQUAL_INT64(0, after.of(TimeUse::kRunning));
  TEST_ASSERT_TRUE(after.of(TimeUse::kCrashed) > 4 * kSecond);
  TEST_ASSERT_EQUAL_UINT32(1, after.times(TimeUse::kCrashed));
  TEST_ASSERT_EQUAL_STRING("no such column", after.crash.c_str());
  const DurationNs lost = after.of(TimeUse::kCrashed);
  board.run_for(1050 * kMillisecond);  // the back-off, and half of the start
  TEST_ASSERT_EQUAL_INT64(
      lost + 1050 * kMillisecond,
      sheet_of(board, "fragile").of(TimeUse::kCrashed) + (board.now() - board.state.now));
}

TEST(work_that_a_checkpoint_holds_is_not_lost_with_the_trainer) {
  CoreConfig config = test::small_board();
  config.timing.checkpoint_every = kSecond;
  FakeBoard board(config);
  board.submit(endless("saved"));
  board.run_for(10 * kSecond);
  crash(board, "saved", TrainerFailed{board.task("saved")->process(), "oops"});
  TEST_ASSERT_TRUE(sheet_of(board, "saved").of(TimeUse::kRunning) > 8 * kSecond);
}

TEST(a_trainer_that_the_kernel_kills_ran_out_of_memory) {
  FakeBoard board(test::small_board());
  board.submit(endless("large"));
  board.run_for(kSecond);
  crash(board, "large", TrainerExited{board.task("large")->process(), -9});
  const TimeSheet& sheet = sheet_of(board, "large");
  TEST_ASSERT_EQUAL_UINT32(1, sheet.times(TimeUse::kOutOfMemory));
  TEST_ASSERT_EQUAL_UINT32(0, sheet.times(TimeUse::kCrashed));
}

TEST(words_that_speak_of_memory_are_told_from_others) {
  TEST_ASSERT_TRUE(is_out_of_memory("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"));
  TEST_ASSERT_TRUE(is_out_of_memory("MemoryError"));
  TEST_ASSERT_TRUE(is_out_of_memory("std::bad_alloc"));
  TEST_ASSERT_FALSE(is_out_of_memory("its trainer was ended by signal 11"));
  TEST_ASSERT_FALSE(is_out_of_memory("no such column"));
}

TEST(a_trainer_that_does_not_fit_waits_for_the_memory_of_the_largest_other) {
  CoreConfig config = test::small_board();
  config.memory_bytes = 500'000'000;
  FakeBoard board(config);
  TaskSpec large = endless("large");
  large.memory_bytes = 400'000'000;
  board.submit(large);
  board.run_for(kSecond);
  TaskSpec next = endless("next");
  next.memory_bytes = 200'000'000;
  board.submit(next);
  board.run_for(2 * kSecond);
  TEST_ASSERT_TRUE(waited_for(board, "next", "large", TimeUse::kMemory) > kSecond);
}

TEST(a_pause_counts_from_the_request_to_the_resumption) {
  FakeBoard board(test::small_board());
  board.submit(endless("paused"));
  board.run_for(2 * kSecond);
  board.tell(PauseRequested{1, "paused"});
  board.run_for(30 * kSecond);
  board.tell(ResumeRequested{2, "paused"});
  board.run_for(kSecond);
  const TimeSheet& sheet = sheet_of(board, "paused");
  TEST_ASSERT_EQUAL_INT64(30 * kSecond, sheet.of(TimeUse::kPaused));
  TEST_ASSERT_EQUAL_UINT32(1, sheet.times(TimeUse::kPaused));
  TEST_ASSERT_EQUAL_STRING("", sheet.paused_by.c_str());
}

TEST(a_pause_by_a_signed_command_names_the_operator) {
  FakeBoard board(test::small_board());
  board.submit(endless("paused"));
  board.run_for(kSecond);
  OperatorCommand command;
  command.by = "op-alice";
  command.id = "1";
  command.expires_wall = kTimeMax;
  command.body = PauseRequested{1, "paused"};
  board.tell(command);
  TEST_ASSERT_EQUAL_STRING("op-alice", sheet_of(board, "paused").paused_by.c_str());
  TEST_ASSERT_EQUAL_STRING("paused by op-alice", board.task("paused")->reason.c_str());
  // The next request is nobody's.
  board.tell(ResumeRequested{2, "paused"});
  board.tell(PauseRequested{3, "paused"});
  TEST_ASSERT_EQUAL_STRING("paused by an operator", board.task("paused")->reason.c_str());
}

TEST(the_time_without_an_agent_and_the_work_that_it_cost_are_the_agents) {
  CoreConfig config = test::small_board();
  config.timing.checkpoint_every = kHour;
  FakeBoard board(config);
  board.submit(endless("survivor"));
  board.run_for(5 * kSecond);
  const DurationNs ran = sheet_of(board, "survivor").of(TimeUse::kRunning);
  const TimeNs last = board.state.now;
  board.skip(kMinute);
  board.restart();
  const TimeSheet& sheet = sheet_of(board, "survivor");
  TEST_ASSERT_EQUAL_INT64(board.state.now - last + ran, sheet.of(TimeUse::kAgentDown));
  TEST_ASSERT_EQUAL_UINT32(1, sheet.times(TimeUse::kAgentDown));
  TEST_ASSERT_EQUAL_INT64(0, sheet.of(TimeUse::kRunning));
}

TEST(an_account_outlives_a_snapshot_to_the_bit) {
  FakeBoard board(test::small_board());
  board.submit(endless("one"));
  board.submit(endless("two"));
  board.run_for(5 * kSecond);
  const Bytes bytes = encode(board.state);
  Result<State> read =
      decode_state(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  TEST_ASSERT_TRUE(read.has_value());
  TEST_ASSERT_EQUAL_INT64(board.task("one")->time_sheet.total(),
                          read->find_named("one")->time_sheet.total());
  TEST_ASSERT_EQUAL_UINT64(board.state.digest(), read->digest());
}

TEST(rivals_beyond_the_limit_share_a_line) {
  TimeSheet sheet;
  for (std::uint32_t rival = 1; rival <= 100; ++rival) {
    sheet.add({TimeUse::kRival, {}, rival}, kSecond);
  }
  TEST_ASSERT_EQUAL_UINT(kRivalsMax + 1, sheet.lines().size());
  TEST_ASSERT_EQUAL_INT64(100 * kSecond, sheet.of(TimeUse::kRival));
  TEST_ASSERT_EQUAL_UINT32(0, sheet.lines().back().key.rival);
}

TEST(a_later_moment_is_accounted_without_touching_the_task) {
  FakeBoard board(test::small_board());
  board.submit(endless("one"));
  board.run_for(2 * kSecond);
  const Task& task = *board.task("one");
  const DurationNs before = task.time_sheet.total();
  const TimeSheet later = time_sheet_at(board.state, task, board.state.now + kMinute);
  TEST_ASSERT_EQUAL_INT64(before + kMinute, later.total());
  TEST_ASSERT_EQUAL_INT64(before, task.time_sheet.total());
}

TEST(an_explanation_says_throttled_where_the_table_does) {
  FakeBoard board(test::small_board());
  board.submit(endless("held"));
  board.state.power.set_fleet_ceiling_ppm(LaneKind::kCpu, 250'000);
  board.tell(Ticked{});
  board.run_for(5 * kSecond);
  TEST_ASSERT_EQUAL_STRING("throttled", explain(board.state, "held")->substr(0, 9).c_str());
}
