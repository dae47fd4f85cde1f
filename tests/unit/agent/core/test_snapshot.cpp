// A journal is input like any other: snapshots and boots that the core could trip over are refused.
#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;

namespace {

// A board whose two lanes run a task each.
test::FakeBoard busy_board() {
  test::FakeBoard board(test::small_board());
  TaskSpec on_gpu = test::small_task("gpu", kHour, 0.001);
  on_gpu.lane = LaneKind::kGpu;
  board.submit(on_gpu);
  board.submit(test::small_task("cpu", kHour, 0.001));
  board.run_for(2 * kSecond + 50 * kMillisecond);
  return board;
}

bool decodes(State& state) {
  const Bytes bytes = encode(state);
  return decode_state({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).has_value();
}

Task& running_task(State& state) {
  for (Task& task : state.live) {
    if (task.lane >= 0) return task;
  }
  TEST_FAIL_MESSAGE("no task runs");
  return state.live.front();
}

Event boot_with(void (*change)(Booted&)) {
  Booted booted{kDay, test::small_board()};
  change(booted);
  return {kDay, booted};
}

bool boots(void (*change)(Booted&)) { return admissible(State{}, boot_with(change)).has_value(); }

}  // namespace

TEST(a_snapshot_of_a_busy_board_decodes) {
  test::FakeBoard board = busy_board();
  TEST_ASSERT_TRUE(running_task(board.state).lane >= 0);
  TEST_ASSERT_TRUE(decodes(board.state));
}

TEST(refuses_a_snapshot_whose_lane_runs_a_task_that_is_not_live) {
  test::FakeBoard board = busy_board();
  board.state.lanes[0].running.push_back(99);
  TEST_ASSERT_FALSE(decodes(board.state));
}

TEST(refuses_a_snapshot_whose_last_reading_is_at_no_time) {
  test::FakeBoard board = busy_board();
  board.state.power.read_at = INT64_MIN;
  TEST_ASSERT_FALSE(decodes(board.state));
}

TEST(refuses_a_snapshot_whose_task_is_on_a_lane_that_is_not_there) {
  test::FakeBoard board = busy_board();
  running_task(board.state).lane = 7;
  TEST_ASSERT_FALSE(decodes(board.state));
}

TEST(refuses_a_snapshot_whose_running_task_holds_no_lane) {
  test::FakeBoard board = busy_board();
  Task& task = running_task(board.state);
  std::erase(board.state.lanes[static_cast<std::size_t>(task.lane)].running, task.key);
  TEST_ASSERT_FALSE(decodes(board.state));
}

TEST(refuses_a_snapshot_with_an_outcome_that_its_state_denies) {
  test::FakeBoard board = busy_board();
  running_task(board.state).outcome = Outcome::kSucceeded;
  TEST_ASSERT_FALSE(decodes(board.state));
}

TEST(refuses_a_snapshot_with_counts_and_times_beyond_the_limits) {
  test::FakeBoard samples = busy_board();
  running_task(samples.state).samples = kSamplesMax + 1;
  TEST_ASSERT_FALSE(decodes(samples.state));
  test::FakeBoard times = busy_board();
  running_task(times.state).state_since = INT64_MAX;
  TEST_ASSERT_FALSE(decodes(times.state));
  test::FakeBoard waits = busy_board();
  waits.state.config.timing.hang_timeout = INT64_MAX;
  TEST_ASSERT_FALSE(decodes(waits.state));
}

TEST(refuses_a_snapshot_whose_recurring_task_is_beyond_the_limits) {
  const auto decodes_with = [](void (*change)(Recurring&)) {
    test::FakeBoard board(test::small_board());
    TaskSpec nightly = test::small_task("night", 0, 0.1);
    nightly.every.window = *parse_weekly_window("22:00-06:00 daily");
    board.submit(nightly);
    change(board.state.recurring.at(0));
    return decodes(board.state);
  };
  TEST_ASSERT_TRUE(decodes_with([](Recurring&) {}));
  TEST_ASSERT_TRUE(decodes_with([](Recurring& r) { r.due_wall = kNever; }));
  TEST_ASSERT_TRUE(decodes_with([](Recurring& r) { r.missed_wall = -kHour; }));
  TEST_ASSERT_TRUE(decodes_with([](Recurring& r) { r.runs = kRunsMax; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.due_wall = kNever - 1; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.due_wall = INT64_MIN; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.missed_wall = INT64_MIN; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.missed_wall = INT64_MAX; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.runs = kRunsMax + 1; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.spec.deadline_after = INT64_MAX; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.spec.deadline_after = -1; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.spec.deadline_wall = kDay; }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.spec.name.clear(); }));
  TEST_ASSERT_FALSE(decodes_with([](Recurring& r) { r.spec.run_of = "night"; }));
}

TEST(a_task_that_has_had_all_its_runs_has_no_more) {
  test::FakeBoard board(test::small_board());
  TaskSpec nightly = test::small_task("night", 0, 0.1);
  nightly.every.window = *parse_weekly_window("22:00-06:00 daily");
  board.submit(nightly);
  board.state.recurring.at(0).runs = kRunsMax;
  board.run_for(12 * kHour);
  TEST_ASSERT_TRUE(board.state.live.empty());
  TEST_ASSERT_TRUE(board.state.recurring.at(0).reason.find("the limit") != std::string::npos);
  TEST_ASSERT_TRUE(decodes(board.state));
}

TEST(a_task_that_is_decided_is_not_decided_again_at_a_start) {
  test::FakeBoard board = busy_board();
  board.tell(CancelRequested{9, "cpu"});
  for (Task& task : board.state.live) {
    if (task.outcome == Outcome::kCancelled) task.agent_deaths = kAgentDeathsMax;
  }
  board.restart();
  TEST_ASSERT_TRUE(board.task("cpu")->outcome == Outcome::kCancelled);
}

TEST(admits_only_boots_that_a_schema_could_have_made) {
  TEST_ASSERT_TRUE(boots([](Booted&) {}));
  TEST_ASSERT_FALSE(boots([](Booted& b) { b.wall_ns = INT64_MIN; }));
  TEST_ASSERT_FALSE(boots([](Booted& b) { b.config.slice = 0; }));
  TEST_ASSERT_FALSE(boots([](Booted& b) { b.config.memory_bytes = -1; }));
  TEST_ASSERT_FALSE(boots([](Booted& b) { b.config.timing.backoff_max = INT64_MAX; }));
  TEST_ASSERT_FALSE(boots([](Booted& b) { b.config.lanes.clear(); }));
}

TEST(admits_no_instant_that_cannot_be) {
  test::FakeBoard board = busy_board();
  TEST_ASSERT_TRUE(admissible(board.state, {board.now(), Ticked{}}).has_value());
  TEST_ASSERT_FALSE(admissible(board.state, {INT64_MAX, Ticked{}}).has_value());
  TEST_ASSERT_FALSE(admissible(board.state, {board.now(), ClockStepped{INT64_MAX}}).has_value());
}

TEST(refuses_a_wall_clock_deadline_beyond_a_year) {
  test::FakeBoard board(test::small_board());
  TaskSpec spec = test::small_task("late", 0, 0.1);
  spec.deadline_wall = INT64_MAX;
  board.submit(spec);
  TEST_ASSERT_FALSE(board.answers.back().ok);
  TEST_ASSERT_TRUE(board.answers.back().text.find("within a year") != std::string::npos);
  spec.deadline_wall = board.now() + 300 * kDay;
  board.submit(spec);
  TEST_ASSERT_TRUE(board.answers.back().ok);
}
