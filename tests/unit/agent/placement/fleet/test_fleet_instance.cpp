#include "agent/placement/fleet/fleet_instance.hpp"

#include "agent/placement/search/solve.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/agent/placement/fleet/sample_fleet.hpp"

using namespace laird;
using namespace laird::placement;
using test::gpu_task;
using test::three_modules;

namespace {

FleetInstance built(const FleetFacts& facts) {
  auto out = fleet_instance(facts);
  TEST_ASSERT_TRUE(out.has_value());
  return std::move(*out);
}

std::size_t lane_called(const FleetInstance& of, const std::string& name) {
  for (std::size_t lane = 0; lane < of.lanes.size(); ++lane) {
    if (of.instance.boards[lane].name == name) return lane;
  }
  TEST_FAIL_MESSAGE(name.c_str());
  return 0;
}

std::string place_of(const FleetInstance& of, std::size_t task) {
  const auto plan = solve(of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_TRUE(plan.has_value());
  return of.instance.boards[static_cast<std::size_t>(plan->tasks[task].board)].name;
}

}  // namespace

TEST(a_lane_is_a_board_of_the_planner_and_takes_tasks_of_its_kind) {
  FleetFacts facts = three_modules();
  facts.boards[0].lanes = {{"gpu0", true}};
  facts.tasks.push_back(gpu_task("a"));
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(5, of.lanes.size());
  TEST_ASSERT_EQUAL_STRING("n-1", of.instance.boards[0].name.c_str());
  TEST_ASSERT_TRUE(of.instance.may_run(0, lane_called(of, "n-2/gpu0")));
  TEST_ASSERT_FALSE(of.instance.may_run(0, lane_called(of, "n-2/cpu0")));
}

TEST(a_forecast_is_scaled_to_other_boards_and_keeps_its_quantiles) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a");
  task.board = "n-1";
  task.rate = 10.0;
  task.need = NeedSeconds{500.0, 1000.0, 3000.0};
  facts.tasks.push_back(task);
  facts.boards[2].works = {{"mlp", "work-a", true, 40.0, 0.0, 0.0}};
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(1000, of.instance.choice(0, lane_called(of, "n-1/gpu0")).time_s);
  TEST_ASSERT_EQUAL(250, of.instance.choice(0, lane_called(of, "n-3/gpu0")).time_s);
  TEST_ASSERT_EQUAL(500, of.instance.tasks[0].low_permille);
  TEST_ASSERT_EQUAL(3000, of.instance.tasks[0].high_permille);
  TEST_ASSERT_TRUE(of.known_by[0] == TimeBasis::kForecast);
}

TEST(without_a_forecast_earlier_runs_then_planned_samples_then_the_deadline_tell_the_time) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a", 1000.0);
  facts.tasks.push_back(task);
  FleetInstance of = built(facts);
  TEST_ASSERT_TRUE(of.known_by[0] == TimeBasis::kDeadline);
  // On the slowest board half of the time that is left.
  TEST_ASSERT_EQUAL(500, of.instance.choice(0, lane_called(of, "n-1/gpu0")).time_s);
  TEST_ASSERT_EQUAL(1800, of.instance.tasks[0].high_permille);

  facts.tasks[0].planned_samples = 900.0;
  facts.boards[0].works = {{"mlp", "work-a", true, 3.0, 0.0, 0.0}};
  of = built(facts);
  TEST_ASSERT_TRUE(of.known_by[0] == TimeBasis::kPlanned);
  TEST_ASSERT_EQUAL(300, of.instance.choice(0, lane_called(of, "n-1/gpu0")).time_s);

  facts.boards[1].works = {{"mlp", "work-a", true, 5.0, 600.0, 0.0}};
  of = built(facts);
  TEST_ASSERT_TRUE(of.known_by[0] == TimeBasis::kEarlier);
  TEST_ASSERT_EQUAL(200, of.instance.choice(0, lane_called(of, "n-1/gpu0")).time_s);
}

TEST(a_task_that_will_not_reach_its_target_holds_its_lane_to_its_end_and_counts_as_missed) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a", 5000.0);
  task.board = "n-1";
  task.stage = Stage::kRunning;
  task.rate = 10.0;
  task.samples = 1000.0;
  task.need = NeedSeconds{10.0, 20.0, 30.0};
  task.hopeless = true;
  facts.tasks.push_back(task);
  FleetInstance of = built(facts);
  const std::size_t nano = lane_called(of, "n-1/gpu0");
  TEST_ASSERT_EQUAL(5000, of.instance.choice(0, nano).time_s);
  auto plan = solve(of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_FALSE(in_time(of.instance, *plan, 0));
  facts.tasks[0].planned_samples = 3000.0;
  of = built(facts);
  TEST_ASSERT_EQUAL(200, of.instance.choice(0, nano).time_s);
  plan = solve(of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_FALSE(in_time(of.instance, *plan, 0));
}

TEST(what_has_a_lane_keeps_it_and_what_has_begun_stays_on_its_board) {
  FleetFacts facts = three_modules();
  for (const char* name : {"a", "b"}) {
    facts.tasks.push_back(gpu_task(name));
    facts.tasks.back().board = "n-1";
    facts.tasks.back().need = NeedSeconds{100.0, 100.0, 100.0};
    facts.tasks.back().rate = 5.0;
    facts.tasks.back().stage = Stage::kRunning;
  }
  const FleetInstance of = built(facts);
  const std::size_t nano = lane_called(of, "n-1/gpu0");
  TEST_ASSERT_EQUAL(nano, of.instance.tasks[0].running);
  TEST_ASSERT_EQUAL_MESSAGE(-1, of.instance.tasks[1].running, "the lane has one task at a time");
  TEST_ASSERT_FALSE(of.instance.may_run(1, lane_called(of, "n-3/gpu0")));
  TEST_ASSERT_TRUE(solve(of.instance, {1, 50'000, nullptr}).has_value());
}

TEST(a_task_that_waits_goes_where_it_is_done_first_but_stays_if_that_gains_nothing) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a");
  task.board = "n-1";
  facts.tasks.push_back(task);
  TEST_ASSERT_EQUAL_STRING("n-3/gpu0", place_of(built(facts), 0).c_str());
  facts.boards[1] = facts.boards[0];
  facts.boards[1].name = "n-2";
  facts.boards.pop_back();
  facts.tasks[0].board = "n-2";
  TEST_ASSERT_EQUAL_STRING("n-2/gpu0", place_of(built(facts), 0).c_str());
}

TEST(boards_that_are_away_or_drained_are_closed_and_draining_ones_keep_their_own) {
  FleetFacts facts = three_modules();
  facts.boards[2].standing = Standing::kAway;
  facts.boards[1].standing = Standing::kDraining;
  facts.tasks.push_back(gpu_task("a"));
  facts.tasks.push_back(gpu_task("own"));
  facts.tasks[1].board = "n-2";
  facts.tasks.push_back(gpu_task("gone"));
  facts.tasks[2].board = "n-3";
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL_STRING("n-1/gpu0", place_of(of, 0).c_str());
  TEST_ASSERT_TRUE(of.instance.may_run(1, lane_called(of, "n-2/gpu0")));
  TEST_ASSERT_FALSE(of.instance.may_run(0, lane_called(of, "n-2/gpu0")));
  TEST_ASSERT_EQUAL(1, of.left_out.size());
  TEST_ASSERT_EQUAL_STRING("its board n-3 is away", of.left_out[0].why.c_str());
  facts.tasks.resize(1);
  TEST_ASSERT_EQUAL_MESSAGE(1, built(facts).instance.boards[2].closed.size(),
                            "a draining board without tasks is closed");
}

TEST(what_no_board_can_run_is_left_out_with_the_reasons_and_spoils_nothing) {
  FleetFacts facts = three_modules();
  facts.tasks.push_back(gpu_task("large"));
  facts.tasks[0].memory_bytes = 64'000'000'000;
  facts.tasks.push_back(gpu_task("alien"));
  facts.tasks[1].trainer = "alien";
  facts.tasks.push_back(gpu_task("paused"));
  facts.tasks[2].stage = Stage::kPaused;
  facts.tasks.push_back(gpu_task("good"));
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(1, of.tasks.size());
  TEST_ASSERT_EQUAL(3, of.tasks[0]);
  TEST_ASSERT_EQUAL(3, of.left_out.size());
  TEST_ASSERT_TRUE(of.left_out[0].why.find("it needs 64000 MB") != std::string::npos);
  TEST_ASSERT_TRUE(of.left_out[1].why.find("no trainer 'alien'") != std::string::npos);
}

TEST(tasks_of_one_name_on_two_boards_are_told_apart) {
  FleetFacts facts = three_modules();
  for (const char* board : {"n-1", "n-2"}) {
    facts.tasks.push_back(gpu_task("shared"));
    facts.tasks.back().board = board;
    facts.tasks.back().bound = true;
  }
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL_STRING("shared@n-1", of.instance.tasks[0].name.c_str());
  TEST_ASSERT_EQUAL_STRING("n-1/gpu0", place_of(of, 0).c_str());
  TEST_ASSERT_EQUAL_STRING("n-2/gpu0", place_of(of, 1).c_str());
}

TEST(without_a_board_its_tasks_begin_anew_elsewhere_and_what_it_learned_still_counts) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a");
  task.board = "n-1";
  task.stage = Stage::kRunning;
  task.rate = 10.0;
  task.samples = 2000.0;
  task.need = NeedSeconds{100.0, 100.0, 100.0};
  facts.tasks.push_back(task);
  TEST_ASSERT_TRUE(without_board(facts, "n-1").has_value());
  TEST_ASSERT_FALSE(without_board(facts, "n-1").has_value());
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(4, of.lanes.size());
  const Choice& orin = of.instance.choice(0, lane_called(of, "n-3/gpu0"));
  // 200 s to do again and 100 s to go, on a board 2.38 times as fast.
  TEST_ASSERT_INT_WITHIN(2, 126, orin.time_s);
  TEST_ASSERT_TRUE(orin.allowed);
}

TEST(one_more_board_takes_tasks_and_a_deadline_can_be_another) {
  FleetFacts facts = three_modules();
  facts.boards.resize(1);
  facts.tasks.push_back(gpu_task("a"));
  facts.tasks.push_back(gpu_task("b"));
  BoardFact orin = three_modules().boards[2];
  orin.trainers.clear();
  TEST_ASSERT_TRUE(with_board(facts, orin).has_value());
  TEST_ASSERT_EQUAL_STRING("new-1", facts.boards[1].name.c_str());
  TEST_ASSERT_EQUAL(2, facts.boards[1].trainers.size());
  TEST_ASSERT_TRUE(with_deadline(facts, "b", 77.9).has_value());
  TEST_ASSERT_FALSE(with_deadline(facts, "c", 1.0).has_value());
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(77, of.instance.tasks[1].deadline_s);
  TEST_ASSERT_EQUAL_STRING("new-1/gpu0", place_of(of, 0).c_str());
  TEST_ASSERT_EQUAL_STRING("n-1/gpu0", place_of(of, 1).c_str());
}

TEST(a_fleet_that_says_nothing_of_its_lanes_cannot_be_planned) {
  FleetFacts facts = three_modules();
  for (BoardFact& board : facts.boards) board.lanes.clear();
  TEST_ASSERT_FALSE(fleet_instance(facts).has_value());
}

TEST(a_task_holds_its_lane_no_longer_than_to_its_deadline_and_counts_as_missed) {
  FleetFacts facts = three_modules();
  TaskFact task = gpu_task("a", 1800.0);
  task.board = "n-1";
  task.stage = Stage::kRunning;
  task.rate = 10.0;
  task.need = NeedSeconds{20'000.0, 36'000.0, 50'000.0};
  facts.tasks.push_back(task);
  FleetInstance of = built(facts);
  const std::size_t nano = lane_called(of, "n-1/gpu0");
  TEST_ASSERT_EQUAL(1800, of.instance.choice(0, nano).time_s);
  auto plan = solve(of.instance, {1, 50'000, nullptr});
  TEST_ASSERT_FALSE(in_time(of.instance, *plan, 0));
  TEST_ASSERT_EQUAL(1800, plan->objective.makespan_s);
  // What may go elsewhere is not hurried there.
  facts.tasks[0].stage = Stage::kWaiting;
  of = built(facts);
  TEST_ASSERT_TRUE(of.instance.choice(0, lane_called(of, "n-3/gpu0")).time_s > 10'000);
  // Nobody knows when one ends that does not tell its deadline.
  facts.tasks[0].deadline_in_s = 0.0;
  of = built(facts);
  TEST_ASSERT_EQUAL(36'000, of.instance.choice(0, nano).time_s);
}

TEST(the_joules_of_a_task_are_bounded_whatever_watts_a_board_tells) {
  FleetFacts facts = three_modules();
  facts.boards[0].hardware.gpu_w = 1e15;
  facts.boards[1].hardware.gpu_w = 1e-9;
  facts.boards[2].hardware.gpu_w = 0.0;
  facts.tasks.push_back(gpu_task("a", 1e7));
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL_INT64(kEnergyMax, of.instance.choice(0, lane_called(of, "n-1/gpu0")).energy_j);
  TEST_ASSERT_EQUAL_INT64(1, of.instance.choice(0, lane_called(of, "n-2/gpu0")).energy_j);
  TEST_ASSERT_EQUAL_INT64(0, of.instance.choice(0, lane_called(of, "n-3/gpu0")).energy_j);
}

TEST(a_lane_full_of_endless_tasks_ends_and_spoils_nothing) {
  FleetFacts facts = three_modules();
  for (int i = 0; i < 1'024; ++i) {
    facts.tasks.push_back(gpu_task("t" + std::to_string(i), 1e15));
    facts.tasks.back().board = "n-1";
    facts.tasks.back().stage = Stage::kBegun;
    facts.tasks.back().weight = 100.0;
    facts.tasks.back().need = NeedSeconds{1e15, 1e15, 1e15};
  }
  facts.tasks.push_back(gpu_task("good"));
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL(1'025, of.tasks.size());
  const auto plan = solve(of.instance, {1, 5'000, nullptr});
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_TRUE(plan->objective.makespan_s < kForever);
  TEST_ASSERT_TRUE(in_time(of.instance, *plan, 1'024));
}

TEST(a_fleet_of_all_its_members_with_two_lanes_each_is_not_too_large) {
  FleetFacts facts;
  const BoardFact nano = three_modules().boards[0];
  for (std::size_t b = 0; b < 1'024; ++b) {
    facts.boards.push_back(nano);
    facts.boards.back().name = "n-" + std::to_string(b);
  }
  facts.tasks.push_back(gpu_task("a"));
  TEST_ASSERT_EQUAL(2'048, built(facts).lanes.size());
}

TEST(tasks_of_one_name_are_told_apart_also_when_their_boards_are_gone) {
  FleetFacts facts = three_modules();
  for (const char* board : {"n-1", "n-2"}) {
    facts.tasks.push_back(gpu_task("shared"));
    facts.tasks.back().board = board;
  }
  TEST_ASSERT_TRUE(without_board(facts, "n-1").has_value());
  TEST_ASSERT_TRUE(without_board(facts, "n-2").has_value());
  const FleetInstance of = built(facts);
  TEST_ASSERT_EQUAL_STRING("shared@n-1", of.instance.tasks[0].name.c_str());
  TEST_ASSERT_EQUAL_STRING("shared@n-2", of.instance.tasks[1].name.c_str());
  TEST_ASSERT_TRUE_MESSAGE(with_deadline(facts, "shared@n-2", 9.0).has_value(),
                           "and have the names that they had");
}
