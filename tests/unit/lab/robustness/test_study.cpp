#include "lab/robustness/study.hpp"

#include "lab/robustness/workload.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

RobustnessSetting small(std::size_t tasks) {
  RobustnessSetting setting;
  setting.tasks = tasks;
  setting.runs = 12;
  setting.seed = 7;
  return setting;
}

const StrategyScore& score_of(const std::vector<StrategyScore>& scores, const char* name) {
  for (const StrategyScore& s : scores) {
    if (s.name == name) return s;
  }
  TEST_FAIL_MESSAGE("no such strategy");
  return scores.front();
}

}  // namespace

TEST(the_printed_normalisation_starves_a_busy_cluster_and_its_correction_does_not) {
  RobustnessSetting setting = small(60);
  setting.strategies = {
      "uniform",    "lara",         "uara-lara-printed",   "uara-lara", "uara-laira-printed",
      "uara-laira", "uara-uniform", "uara-uniform-printed"};
  const auto scores = run_robustness(setting);
  const double uniform = score_of(scores, "uniform").success_pct.mean;
  for (const char* wrapped : {"uara-lara", "uara-laira", "uara-uniform"}) {
    const StrategyScore& printed = score_of(scores, (std::string(wrapped) + "-printed").c_str());
    const StrategyScore& corrected = score_of(scores, wrapped);
    // Starved: well under Uniform, with nodes idle while tasks wait.
    TEST_ASSERT_TRUE(printed.success_pct.mean < 0.8 * uniform);
    TEST_ASSERT_TRUE(printed.lane_use.mean < 0.9 * corrected.lane_use.mean);
    TEST_ASSERT_TRUE(corrected.success_pct.mean > 1.3 * printed.success_pct.mean);
  }
  // The correction costs its wrapped policy nothing.
  TEST_ASSERT_TRUE(score_of(scores, "uara-lara").success_pct.mean >
                   0.95 * score_of(scores, "lara").success_pct.mean);
}

TEST(corrected_throttling_and_ours_succeed_as_often_as_uniform_and_more_cheaply) {
  RobustnessSetting setting = small(60);
  setting.strategies = {"uniform", "uara-lara-printed", "uara-laira", "foresight"};
  const auto scores = run_robustness(setting);
  const StrategyScore& uniform = score_of(scores, "uniform");
  for (const char* name : {"uara-laira", "ours"}) {
    const StrategyScore& s = score_of(scores, name);
    TEST_ASSERT_TRUE(s.success_pct.mean >= uniform.success_pct.mean);
    TEST_ASSERT_TRUE(s.efficiency.mean > 1.2 * uniform.efficiency.mean);
    TEST_ASSERT_TRUE(s.efficiency.mean >
                     1.2 * score_of(scores, "uara-lara-printed").efficiency.mean);
  }
}

TEST(with_few_tasks_every_strategy_does_well) {
  RobustnessSetting setting = small(10);
  setting.strategies = study_strategies();
  for (const StrategyScore& s : run_robustness(setting)) {
    TEST_ASSERT_TRUE_MESSAGE(s.success_pct.mean > 90.0, s.name.c_str());
  }
}

TEST(a_study_gives_the_same_numbers_with_any_count_of_jobs) {
  RobustnessSetting setting = small(30);
  setting.runs = 6;
  setting.strategies = {"uniform", "uara-laira", "foresight"};
  const auto one = run_robustness(setting);
  setting.jobs = 3;
  const auto three = run_robustness(setting);
  for (std::size_t i = 0; i < one.size(); ++i) {
    TEST_ASSERT_TRUE(one[i].energy.mean == three[i].energy.mean);
    TEST_ASSERT_TRUE(one[i].success_pct.mean == three[i].success_pct.mean);
    TEST_ASSERT_TRUE(one[i].latency.standard_error == three[i].latency.standard_error);
  }
}
