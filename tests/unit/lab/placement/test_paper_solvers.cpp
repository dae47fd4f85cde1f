#include "lab/placement/paper_solvers.hpp"

#include "agent/placement/planner/verify.hpp"
#include "lab/placement/instances.hpp"
#include "lab/placement/runs.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

placement::Instance paper5(std::size_t boards, placement::Mode mode) {
  placement::Instance out = paper_instance(5, boards);
  out.mode = mode;
  return out;
}

placement::Seconds sum_of_times(const placement::Instance& instance, const placement::Plan& plan) {
  placement::Seconds sum = 0;
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    sum += instance.choice(t, static_cast<std::size_t>(plan.tasks[t].board)).time_s;
  }
  return sum;
}

constexpr placement::Mode kModes[] = {placement::Mode::kSerial, placement::Mode::kConcurrent};

}  // namespace

TEST(first_come_first_served_takes_155_minutes_as_in_the_paper) {
  for (const placement::Mode mode : kModes) {
    const placement::Instance i = paper5(7, mode);
    const Result<placement::Plan> plan = fcfs_least_loaded(i);
    TEST_ASSERT_TRUE(plan.has_value());
    TEST_ASSERT_TRUE(placement::verify(i, *plan).has_value());
    TEST_ASSERT_EQUAL_INT64(155 * 60, plan->objective.makespan_s);
    TEST_ASSERT_INT64_WITHIN(2, 404 * 60 + 2, sum_of_times(i, *plan));
  }
}

TEST(the_search_proves_115_minutes_on_seven_boards_and_74_on_eight) {
  for (const placement::Mode mode : kModes) {
    for (const auto& [boards, minutes] : {std::pair<std::size_t, int>{7, 115}, {8, 74}}) {
      RunOptions options;
      options.steps = 500'000;
      const Result<RunResult> r = run_solver(paper5(boards, mode), options);
      TEST_ASSERT_TRUE(r.has_value());
      TEST_ASSERT_EQUAL_INT64(minutes * 60, r->plan.objective.makespan_s);
      TEST_ASSERT_TRUE(r->proved);
    }
  }
}

TEST(membatch_takes_115_minutes_and_the_baseline_123_as_in_the_paper) {
  const std::unique_ptr<IlpSolver> solver = make_ilp_solver();
  if (solver == nullptr) TEST_IGNORE_MESSAGE("built without CBC");
  for (const placement::Mode mode : kModes) {
    const placement::Instance i = paper5(7, mode);
    const Result<placement::Plan> batched = membatch(i, *solver, 10.0);
    TEST_ASSERT_TRUE(batched.has_value());
    TEST_ASSERT_TRUE(placement::verify(i, *batched).has_value());
    TEST_ASSERT_EQUAL_INT64(115 * 60, batched->objective.makespan_s);
    const Result<placement::Plan> baseline = baseline_ilp(i, *solver, 10.0);
    TEST_ASSERT_TRUE(baseline.has_value());
    TEST_ASSERT_TRUE(placement::verify(i, *baseline).has_value());
    TEST_ASSERT_EQUAL_INT64(mode == placement::Mode::kSerial ? 147 * 60 : 123 * 60,
                            baseline->objective.makespan_s);
    TEST_ASSERT_EQUAL_INT64(221 * 60, sum_of_times(i, *baseline));
  }
}

TEST(the_exact_programme_and_the_search_agree_on_small_instances) {
  const std::unique_ptr<IlpSolver> solver = make_ilp_solver();
  if (solver == nullptr) TEST_IGNORE_MESSAGE("built without CBC");
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const placement::Instance i = generated_instance(12, 5, seed);
    bool proved = false;
    const Result<placement::Plan> exact = exact_ilp(i, *solver, 60.0, &proved);
    TEST_ASSERT_TRUE(exact && proved);
    RunOptions options;
    options.steps = 2'000'000;
    const Result<RunResult> found = run_solver(i, options);
    TEST_ASSERT_TRUE(found.has_value());
    TEST_ASSERT_EQUAL_INT64(exact->objective.makespan_s, found->plan.objective.makespan_s);
  }
}

TEST(what_the_paper_does_not_know_is_refused) {
  placement::Instance i = paper5(7, placement::Mode::kSerial);
  i.tasks[0].running = 0;
  TEST_ASSERT_FALSE(fcfs_least_loaded(i).has_value());
  i.tasks[0].running = -1;
  i.boards[0].closed = {{1, 2}};
  TEST_ASSERT_FALSE(fcfs_least_loaded(i).has_value());
}
