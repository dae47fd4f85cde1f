#include "lab/scheduling/bundles.hpp"

#include <algorithm>

#include "lab/simulator/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

std::vector<Curve> falling_curves(std::size_t count) {
  std::vector<Curve> curves(count);
  for (std::size_t c = 0; c < count; ++c) {
    for (int i = 1; i <= 100; ++i) {
      curves[c].samples.push_back(i);
      curves[c].loss.push_back(1.0 / (static_cast<double>(i) + static_cast<double>(c)));
    }
  }
  return curves;
}

// A task that needs `need` of its `need + 1` points at one point per unit.
struct Job {
  std::vector<double> losses;
  SimulatedTask task;
  Job(int need, double deadline) {
    for (int i = 0; i < need; ++i) losses.push_back(2.0);
    losses.back() = 1.0;
    task.duration_units = need;
    task.deadline_units = deadline;
    task.target_loss = 1.0;
  }
};

// The most on time by trying every subset, each in the order of deadlines.
std::size_t most_by_trying(const std::vector<SimulatedTask>& tasks) {
  std::vector<SimulatedTask> sorted = tasks;
  std::sort(sorted.begin(), sorted.end(), [](const SimulatedTask& a, const SimulatedTask& b) {
    return a.deadline_units < b.deadline_units;
  });
  std::size_t best = 0;
  for (std::size_t subset = 0; subset < (std::size_t{1} << sorted.size()); ++subset) {
    double clock = 0.0;
    std::size_t count = 0;
    bool late = false;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      const double need = need_units(sorted[i]);
      clock += need;
      late = late || need < 0.0 || clock > sorted[i].deadline_units;
      ++count;
    }
    if (!late) best = std::max(best, count);
  }
  return best;
}

}  // namespace

TEST(a_bundle_holds_ten_different_curves_within_the_stated_ranges) {
  const std::vector<Curve> curves = falling_curves(12);
  int reachable = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto tasks = draw_bundle(curves, {}, seed);
    TEST_ASSERT_EQUAL_UINT64(kBundleTasks, tasks.size());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const SimulatedTask& t = tasks[i];
      TEST_ASSERT_TRUE(t.deadline_units >= 500.0 && t.deadline_units < 1600.0);
      TEST_ASSERT_TRUE(t.duration_units >= 250.0 && t.duration_units < 900.0);
      TEST_ASSERT_TRUE(t.arrival_units == 0.0);
      for (std::size_t j = 0; j < i; ++j) TEST_ASSERT_TRUE(tasks[j].losses != t.losses);
      const double need = need_units(t);
      if (need < 0.0) continue;
      ++reachable;
      TEST_ASSERT_TRUE(need >= 0.15 * t.duration_units && need <= 0.72 * t.duration_units);
    }
  }
  // 3000 draws with probability 0.7: four standard deviations are 0.033.
  TEST_ASSERT_TRUE(reachable > 2000 && reachable < 2200);
}

TEST(the_same_seed_draws_the_same_bundle_and_another_does_not) {
  const std::vector<Curve> curves = falling_curves(12);
  const auto a = draw_bundle(curves, {}, 5);
  const auto b = draw_bundle(curves, {}, 5);
  const auto c = draw_bundle(curves, {}, 6);
  TEST_ASSERT_TRUE(a[3].target_loss == b[3].target_loss && a[3].losses == b[3].losses);
  TEST_ASSERT_TRUE(a[3].deadline_units != c[3].deadline_units);
}

TEST(arrivals_spread_the_same_tasks_over_time) {
  const std::vector<Curve> curves = falling_curves(12);
  BundleSetting setting;
  setting.arrivals_until_units = 400.0;
  const auto spread = draw_bundle(curves, setting, 5);
  const auto together = draw_bundle(curves, {}, 5);
  TEST_ASSERT_TRUE(spread[9].arrival_units > 0.0 && spread[9].arrival_units < 400.0);
  TEST_ASSERT_TRUE(spread[9].deadline_units == together[9].deadline_units);
}

TEST(the_oracle_leaves_out_the_longest_when_not_all_fit) {
  const Job a(4, 5.0);
  const Job b(2, 6.0);
  const Job c(3, 6.0);
  std::vector<SimulatedTask> tasks = {a.task, b.task, c.task};
  tasks[0].losses = &a.losses;
  tasks[1].losses = &b.losses;
  tasks[2].losses = &c.losses;
  TEST_ASSERT_EQUAL_UINT64(2, most_on_time(tasks));
}

TEST(the_oracle_is_the_best_of_all_subsets) {
  lab::Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<Job> jobs;
    for (int i = 0; i < 8; ++i) {
      jobs.emplace_back(1 + static_cast<int>(random.below(12)), 4.0 + random.unit() * 40.0);
    }
    std::vector<SimulatedTask> tasks;
    for (const Job& job : jobs) {
      tasks.push_back(job.task);
      tasks.back().losses = &job.losses;
      if (random.below(4) == 0) tasks.back().target_loss = 0.5;  // out of reach
    }
    TEST_ASSERT_EQUAL_UINT64(most_by_trying(tasks), most_on_time(tasks));
  }
}

TEST(a_deadline_counts_from_the_arrival) {
  const Job a(4, 5.0);
  const Job b(4, 5.0);
  std::vector<SimulatedTask> tasks = {a.task, b.task};
  tasks[0].losses = &a.losses;
  tasks[1].losses = &b.losses;
  TEST_ASSERT_EQUAL_UINT64(1, most_on_time(tasks));
  tasks[1].arrival_units = 3.0;
  TEST_ASSERT_EQUAL_UINT64(2, most_on_time(tasks));
}
