#include "agent/policies/peers.hpp"

#include "base/exact_math.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;

namespace {

// Power laws at 1000 samples per second, after so many seconds of a lane.
core::Task worked(core::TaskKey key, double target, int busy_seconds, double exponent = 0.5) {
  core::Task task;
  task.key = key;
  task.rate = 1000.0;
  task.spec.target_loss = target;
  task.deadline_at = 400 * kSecond;
  task.busy_ns = busy_seconds * kSecond;
  task.loss_known = true;
  task.best_loss = 1.0;
  for (int i = 1; i <= 40; ++i) {
    task.samples += 100;
    task.loss = task.best_loss = exact::pow(static_cast<double>(i), -exponent);
    static_cast<void>(task.forecast.observe(static_cast<double>(task.samples), task.loss));
  }
  return task;
}

core::TaskKey chosen(policies::Policy& policy, const std::vector<core::Task>& tasks) {
  std::vector<policies::Candidate> all;
  for (const core::Task& task : tasks) all.push_back({&task, true});
  policies::Decision out;
  policy.decide(policies::LaneView{0, core::LaneKind::kCpu, kSecond, kSecond, all, 0}, out);
  TEST_ASSERT_EQUAL_UINT64(1, out.choices.size());
  return out.choices[0].key;
}

}  // namespace

TEST(asha_promotes_the_best_third_of_a_rung_and_else_serves_the_least_served) {
  policies::Asha asha;
  // On the first rung (10 slices) all three; the second is nearest to its target.
  TEST_ASSERT_EQUAL_UINT32(
      2, chosen(asha, {worked(1, 0.01, 12), worked(2, 0.1, 12), worked(3, 0.02, 12)}));
  TEST_ASSERT_TRUE(asha.explain(worked(2, 0.1, 12)).find("best third") != std::string::npos);
  // It has climbed on: nobody else is of the best third.
  TEST_ASSERT_EQUAL_UINT32(
      3, chosen(asha, {worked(1, 0.01, 12), worked(2, 0.1, 40), worked(3, 0.02, 5)}));
}

TEST(median_stopping_stops_what_is_worse_than_the_median_of_those_served_as_long) {
  policies::MedianStopping median;
  // The first is the least served and far worse than the others.
  TEST_ASSERT_EQUAL_UINT32(2, chosen(median, {worked(1, 0.001, 20), worked(2, 0.1, 21),
                                              worked(3, 0.1, 22), worked(4, 0.1, 23)}));
  // Not judged before the first rung.
  TEST_ASSERT_EQUAL_UINT32(1, chosen(median, {worked(1, 0.001, 5), worked(2, 0.1, 21),
                                              worked(3, 0.1, 22), worked(4, 0.1, 23)}));
}

TEST(edf_with_admission_takes_the_nearest_deadline_that_can_be_met) {
  policies::EdfAdmission edf;
  std::vector<core::Task> tasks = {worked(1, 0.12, 4), worked(2, 0.12, 4), worked(3, 1e-7, 4)};
  tasks[1].deadline_at = 300 * kSecond;
  tasks[2].deadline_at = 100 * kSecond;  // nearest, and hopeless
  TEST_ASSERT_EQUAL_UINT32(2, chosen(edf, tasks));
  // Who has no forecast yet is probed first.
  core::Task young;
  young.key = 4;
  young.deadline_at = 350 * kSecond;
  tasks.push_back(young);
  TEST_ASSERT_EQUAL_UINT32(4, chosen(edf, tasks));
}
