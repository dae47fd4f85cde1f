#include "agent/policies/lane_plan.hpp"

#include <algorithm>

#include "tests/harness/unit.hpp"

using namespace laird::policies;

namespace {

constexpr std::uint32_t kNoFirst = UINT32_MAX;
constexpr std::uint32_t kPlenty = 20'000;

PlannedTask certain(double need, double deadline) {
  PlannedTask task;
  task.need.fill(need);
  task.deadline = deadline;
  return task;
}

PlannedTask maybe(double need, std::size_t chances, double deadline) {
  PlannedTask task;
  task.need.fill(kNeverSeconds);
  std::fill_n(task.need.begin(), chances, need);
  task.deadline = deadline;
  return task;
}

std::uint32_t head_of(const LanePlan& plan) {
  for (const PlannedStep& step : plan.steps) {
    if (step.cutoff > 0.0) return step.task;
  }
  return UINT32_MAX;
}

}  // namespace

TEST(certain_needs_are_planned_as_well_as_moore_and_hodgson_do) {
  const PlannedTask tasks[] = {certain(40, 50), certain(20, 60), certain(30, 60), certain(5, 10)};
  Planner planner;
  // 5 + 20 + 30 fit; the 40 does not beside them.
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, 3.0, planner.plan(tasks, kNoFirst, 0.0, kPlenty).value);
}

TEST(a_likely_success_goes_before_an_unlikely_one_of_the_same_length) {
  const PlannedTask tasks[] = {maybe(50, 8, 60), maybe(50, 24, 60)};
  Planner planner;
  TEST_ASSERT_EQUAL_UINT32(1, head_of(planner.plan(tasks, kNoFirst, 0.0, kPlenty)));
}

TEST(a_task_that_may_never_succeed_is_given_up_in_time_for_the_next) {
  const PlannedTask tasks[] = {maybe(10, 16, 30), certain(50, 70)};
  Planner planner;
  const LanePlan& plan = planner.plan(tasks, kNoFirst, 0.0, kPlenty);
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, 1.5, plan.value);
  TEST_ASSERT_EQUAL_UINT32(0, head_of(plan));
  TEST_ASSERT_TRUE(plan.steps.front().cutoff <= 20.0);
}

TEST(a_heavier_task_goes_before_a_likelier_one_of_the_same_length) {
  PlannedTask tasks[] = {maybe(50, 8, 60), maybe(50, 24, 60)};
  tasks[0].weight = 5.0;
  Planner planner;
  const LanePlan& plan = planner.plan(tasks, kNoFirst, 0.0, kPlenty);
  TEST_ASSERT_EQUAL_UINT32(0, head_of(plan));
  TEST_ASSERT_DOUBLE_WITHIN(0.3, 5.0 * 8 / 32, plan.value);
}

TEST(a_hopeless_task_is_not_run) {
  const PlannedTask tasks[] = {maybe(1, 0, 100), certain(80, 50)};
  Planner planner;
  TEST_ASSERT_EQUAL_UINT32(UINT32_MAX, head_of(planner.plan(tasks, kNoFirst, 0.0, kPlenty)));
}

TEST(switching_must_be_worth_its_cost) {
  const PlannedTask tasks[] = {maybe(50, 17, 60), maybe(50, 16, 60)};
  Planner planner;
  TEST_ASSERT_EQUAL_UINT32(0, head_of(planner.plan(tasks, 1, 0.0, kPlenty)));
  TEST_ASSERT_EQUAL_UINT32(1, head_of(planner.plan(tasks, 1, 0.1, kPlenty)));
}

TEST(the_index_is_the_best_rate_of_success_over_all_cutoffs) {
  // Half of the needs are 10, half 1000: giving up at 10 earns 1/2 per 10 s.
  PlannedTask task = maybe(10, kScenarios / 2, 2000);
  std::fill(task.need.begin() + kScenarios / 2, task.need.end(), 1000.0);
  const Index index = success_index(task);
  TEST_ASSERT_EQUAL_DOUBLE(10.0, index.cutoff);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 0.05, index.value);
}

TEST(the_search_stops_at_its_budget_and_still_has_a_plan) {
  PlannedTask tasks[kPlanTasksMax];
  for (std::size_t i = 0; i < kPlanTasksMax; ++i) {
    tasks[i] = maybe(10.0 + static_cast<double>(i), 20, 100.0);
  }
  Planner planner;
  TEST_ASSERT_TRUE(planner.plan(tasks, kNoFirst, 0.0, 2).value > 0.0);
}

TEST(among_equal_plans_the_one_that_needs_less_of_the_lane_and_so_less_energy) {
  // Either fits before 60 s, not both.
  const PlannedTask tasks[] = {certain(50, 60), certain(30, 60)};
  Planner planner;
  TEST_ASSERT_EQUAL_UINT32(1, head_of(planner.plan(tasks, kNoFirst, 0.0, kPlenty)));
}
