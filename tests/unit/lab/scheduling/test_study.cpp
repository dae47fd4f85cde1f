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
