#include "agent/placement/search/solve.hpp"

#include "agent/placement/planner/verify.hpp"
#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

Instance many_tasks(std::size_t tasks, Mode mode, std::uint64_t seed) {
  RandomOf<Range::kScaled> chance(spread_seed(seed));
  Instance out = test::empty_instance(6, mode);
  for (std::size_t t = 0; t < tasks; ++t) {
    test::add_task(out, "t" + std::to_string(t), 1, chance.between(200, 3000));
    const Seconds time = chance.between(60, 4000);
    for (std::size_t b = 0; b < 6; ++b) {
      out.choice(t, b).time_s = b < 3 ? time : time * chance.between(150, 300) / 100;
      out.choice(t, b).gpu = static_cast<int>(chance.between(50, 900));
    }
  }
  return out;
}

bool same(const Plan& a, const Plan& b) {
  if (a.objective != b.objective || a.bound_s != b.bound_s) return false;
  for (std::size_t t = 0; t < a.tasks.size(); ++t) {
    if (a.tasks[t].board != b.tasks[t].board || a.tasks[t].start_s != b.tasks[t].start_s)
      return false;
  }
  return true;
}

}  // namespace

// Everything at once on small instances: deadlines, windows, data, labels, pinned work, lanes. The
// first two parts of the objective must be the best there is, the rest may lose a little.
TEST(small_instances_are_planned_as_well_as_by_trying_everything) {
  int with_plan = 0;
  int all_equal = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const Instance instance = test::random_instance(seed, 5, 2 + seed % 2);
    const Objective best = test::best_by_trying(instance);
    const Result<Plan> plan = solve(instance, {seed, 300'000, nullptr});
    const std::string what = "seed " + std::to_string(seed);
    if (best.makespan_s >= kForever) {
      TEST_ASSERT_FALSE_MESSAGE(plan.has_value(), what.c_str());
      continue;
    }
    TEST_ASSERT_TRUE_MESSAGE(plan.has_value(),
                             (what + (plan ? "" : ": " + plan.error().context)).c_str());
    TEST_ASSERT_EQUAL_INT64_MESSAGE(best.missed_weight, plan->objective.missed_weight,
                                    what.c_str());
    TEST_ASSERT_EQUAL_INT64_MESSAGE(best.makespan_s, plan->objective.makespan_s, what.c_str());
    TEST_ASSERT_TRUE_MESSAGE(plan->bound_s <= best.makespan_s, what.c_str());
    ++with_plan;
    all_equal += plan->objective == best ? 1 : 0;
  }
  TEST_ASSERT_GREATER_THAN(100, with_plan);
  TEST_ASSERT_GREATER_THAN(with_plan * 8 / 10, all_equal);
}

TEST(the_same_seed_and_steps_give_the_same_plan_and_another_seed_another) {
  for (const Mode mode : {Mode::kSerial, Mode::kConcurrent}) {
    const Instance instance = many_tasks(60, mode, 3);
    const Result<Plan> a = solve(instance, {7, 200'000, nullptr});
    const Result<Plan> b = solve(instance, {7, 200'000, nullptr});
    const Result<Plan> c = solve(instance, {8, 200'000, nullptr});
    TEST_ASSERT_TRUE(a && b && c);
    TEST_ASSERT_TRUE(same(*a, *b));
    TEST_ASSERT_FALSE(same(*a, *c));
  }
}

TEST(larger_instances_end_near_the_bound) {
  struct Case {
    std::size_t tasks;
    Mode mode;
    double gap_max;
  };
  for (const Case& c : {Case{60, Mode::kSerial, 0.02}, Case{300, Mode::kSerial, 0.005},
                        Case{60, Mode::kConcurrent, 0.16}, Case{300, Mode::kConcurrent, 0.21}}) {
    const Result<Plan> plan = solve(many_tasks(c.tasks, c.mode, 5), {1, 3'000'000, nullptr});
    TEST_ASSERT_TRUE(plan.has_value());
    TEST_ASSERT_TRUE_MESSAGE(gap_of(*plan) <= c.gap_max, std::to_string(gap_of(*plan)).c_str());
  }
}

TEST(progress_is_told_with_ever_better_plans_and_no_ends_the_search) {
  const Instance instance = many_tasks(80, Mode::kConcurrent, 9);
  std::vector<Objective> told;
  int calls = 0;
  SolveLimits limits;
  limits.steps_max = 100'000'000;  // the callback ends it long before
  limits.go_on = [&](const Progress& p) {
    ++calls;
    if (p.best.makespan_s < kForever && (told.empty() || p.best < told.back()))
      told.push_back(p.best);
    return calls < 60;
  };
  const Result<Plan> plan = solve(instance, limits);
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_TRUE(calls >= 60 && calls <= 70);
  TEST_ASSERT_TRUE(told.size() >= 2);
  TEST_ASSERT_TRUE(plan->objective <= told.back());
}

TEST(a_search_stopped_at_once_still_gives_a_plan_that_keeps_every_rule) {
  const Instance instance = many_tasks(200, Mode::kConcurrent, 2);
  SolveLimits limits;
  limits.go_on = [](const Progress&) { return false; };
  const Result<Plan> plan = solve(instance, limits);
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_TRUE(verify(instance, *plan).has_value());
}

TEST(deadlines_come_before_the_makespan_and_joules_after_it) {
  Instance i = test::empty_instance(2, Mode::kSerial);
  test::add_task(i, "a", 100).deadline_s = 120;
  test::add_task(i, "b", 100).deadline_s = 120;
  test::add_task(i, "c", 100);
  i.choice(1, 1).time_s = 110;  // b is slower there, but in time
  for (std::size_t t = 0; t < 3; ++t) i.choice(t, 0).energy_j = t == 2 ? 50 : 10;
  const Result<Plan> plan = solve(i, {1, 200'000, nullptr});
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_EQUAL_INT64(0, plan->objective.missed_weight);
  TEST_ASSERT_TRUE(in_time(i, *plan, 0) && in_time(i, *plan, 1));
  TEST_ASSERT_TRUE(plan->tasks[0].board != plan->tasks[1].board);
  const Objective best = test::best_by_trying(i);
  TEST_ASSERT_EQUAL_INT64(best.makespan_s, plan->objective.makespan_s);
  TEST_ASSERT_EQUAL_INT64(best.energy_j, plan->objective.energy_j);
}

TEST(a_drained_board_gets_nothing_and_running_work_stays) {
  Instance i = test::empty_instance(3, Mode::kConcurrent);
  i.boards[1].closed = {{0, kForever}};
  for (int t = 0; t < 9; ++t) test::add_task(i, "t" + std::to_string(t), 50);
  i.tasks[4].running = 1;
  const Result<Plan> plan = solve(i, {1, 100'000, nullptr});
  TEST_ASSERT_TRUE(plan.has_value());
  for (std::size_t t = 0; t < 9; ++t) TEST_ASSERT_EQUAL(t == 4, plan->tasks[t].board == 1);
}

TEST(what_cannot_be_planned_is_refused_with_the_reason) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  test::add_task(i, "huge", 10, 9000);
  const Result<Plan> none = solve(i);
  TEST_ASSERT_FALSE(none.has_value());
  TEST_ASSERT_EQUAL_STRING(
      "task 'huge' fits no board: n-1: it needs 9000 MB, the board has 4000 MB",
      none.error().context.c_str());
  Instance closes = test::empty_instance(1, Mode::kSerial);
  closes.boards[0].closed = {{15, kForever}};
  test::add_task(closes, "a", 10);
  test::add_task(closes, "b", 10);
  TEST_ASSERT_FALSE(solve(closes).has_value());
  Instance together = test::empty_instance(1, Mode::kSerial);
  test::add_task(together, "a", 10).apart = 0;
  test::add_task(together, "b", 10).apart = 0;
  const Result<Plan> apart = solve(together);
  TEST_ASSERT_FALSE(apart.has_value());
  TEST_ASSERT_TRUE(apart.error().context.find("must be apart") != std::string::npos);
}

TEST(no_tasks_make_an_empty_plan) {
  const Result<Plan> plan = solve(test::empty_instance(2, Mode::kSerial));
  TEST_ASSERT_TRUE(plan.has_value());
  TEST_ASSERT_TRUE(plan->tasks.empty());
}
