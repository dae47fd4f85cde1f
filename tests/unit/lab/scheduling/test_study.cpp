#include "lab/scheduling/study.hpp"

#include "lab/scheduling/bundles.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

const PolicyScore& score_of(const StudyResult& result, const std::string& name) {
  for (const PolicyScore& score : result.policies) {
    if (score.name == name) return score;
  }
  TEST_FAIL_MESSAGE("no such policy in the result");
  return result.policies.front();
}

Study small_study(const std::vector<Curve>& curves) {
  Study study;
  study.policies = {"foresight", "round-robin", "shortest-task-first"};
  study.runs = 12;
  study.draw = [&curves](std::uint64_t seed) { return Bundle{draw_bundle(curves, {}, seed), {}}; };
  return study;
}

}  // namespace

TEST(a_study_gives_the_same_numbers_with_any_count_of_jobs) {
  const CurveSet set = *load_curves(test::shared_data_or_skip() + "/curves");
  Study study = small_study(set.curves);
  const StudyResult one = run_study(study);
  study.jobs = 3;
  const StudyResult three = run_study(study);
  TEST_ASSERT_TRUE(one.oracle == three.oracle);
  for (std::size_t p = 0; p < one.policies.size(); ++p) {
    TEST_ASSERT_TRUE(one.policies[p].successes == three.policies[p].successes);
    TEST_ASSERT_TRUE(one.policies[p].switches_per_task == three.policies[p].switches_per_task);
  }
}

TEST(ours_is_ahead_of_what_forecasts_nothing_and_nobody_beats_the_oracle) {
  const CurveSet set = *load_curves(test::shared_data_or_skip() + "/curves");
  Study study = small_study(set.curves);
  study.runs = 30;
  const StudyResult result = run_study(study);
  for (const PolicyScore& score : result.policies) {
    TEST_ASSERT_TRUE(score.successes <= result.oracle);
  }
  for (const char* other : {"round-robin", "shortest-task-first"}) {
    const PolicyScore& score = score_of(result, other);
    TEST_ASSERT_TRUE(score.behind_ours > 2.0 * score.behind_ours_error);
  }
  TEST_ASSERT_TRUE(score_of(result, "ours").switches_per_task <= 3.5);
}

TEST(energy_is_idle_power_over_the_whole_run_and_more_while_the_lane_works) {
  // Reaches its target half-way through its curve, then there is nothing left to do; the second
  // task comes late, so that the board idles in between.
  static const std::vector<double> kLosses = {1.0, 0.8, 0.6, 0.4};
  Study study;
  study.policies = {"round-robin"};
  study.runs = 1;
  study.idle_w = 2.0;
  study.busy_w = 10.0;
  study.draw = [](std::uint64_t) {
    SimulatedTask task;
    task.losses = &kLosses;
    task.duration_units = 40.0;
    task.deadline_units = 1000.0;
    task.target_loss = 0.8;
    SimulatedTask late = task;
    late.arrival_units = 100.0;
    return Bundle{{task, late}, {}};
  };
  const StudyResult result = run_study(study);
  TEST_ASSERT_TRUE(result.policies[0].successes == 2.0);
  // 20 s of work each; the second ends at 120 s.
  TEST_ASSERT_DOUBLE_WITHIN(1.0, 120.0 * 2.0 + 40.0 * 8.0, result.policies[0].energy_j);
}
