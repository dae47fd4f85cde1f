#include "lab/robustness/study.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "lab/robustness/workload.hpp"
#include "lab/scheduling/study.hpp"

namespace laird::lab {
namespace {

enum Column { kSuccess, kLatency, kEnergy, kEfficiency, kLinkUse, kLaneUse, kColumns };
using Sample = std::array<double, kColumns>;

[[nodiscard]] Sample run_one(const std::string& strategy, const Workload& load,
                             std::uint64_t seed) {
  const ClusterResult run =
      run_cluster({kStudyNodes, kLinkSamplesPerStep, strategy, seed}, load.tasks);
  double successes = 0.0;
  double latency = 0.0;
  for (std::size_t i = 0; i < load.tasks.size(); ++i) {
    if (run.succeeded_at[i] == kNever) continue;
    successes += 1.0;
    latency += static_cast<double>(run.succeeded_at[i]) / static_cast<double>(kTimeUnit) -
               load.tasks[i].task.arrival_units;
  }
  Sample s{};
  s[kSuccess] = 100.0 * successes / static_cast<double>(load.tasks.size());
  s[kLatency] = successes > 0.0 ? latency / successes : std::nan("");
  s[kEnergy] = energy_of(run);
  s[kEfficiency] = s[kSuccess] / s[kEnergy];
  s[kLinkUse] = run.link_busy_units / run.horizon_units;
  s[kLaneUse] = run.work_units / (run.horizon_units * static_cast<double>(kStudyNodes));
  return s;
}

// A run without a success has no latency and is left out of that mean.
[[nodiscard]] Measured measured(const std::vector<Sample>& samples, Column column) {
  double n = 0.0;
  double sum = 0.0;
  for (const Sample& s : samples) {
    if (std::isnan(s[column])) continue;
    n += 1.0;
    sum += s[column];
  }
  Measured out;
  if (n == 0.0) return out;
  out.mean = sum / n;
  double squares = 0.0;
  for (const Sample& s : samples) {
    if (std::isnan(s[column])) continue;
    squares += (s[column] - out.mean) * (s[column] - out.mean);
  }
  if (n > 1.0) out.standard_error = std::sqrt(squares / (n - 1.0) / n);
  return out;
}

}  // namespace

std::vector<std::string> study_strategies() {
  return {"uniform",
          "shortest-task-first",
          "lara",
          "uara-uniform-printed",
          "uara-lara-printed",
          "uara-uniform",
          "uara-lara",
          "uara-laira-printed",
          "uara-laira",
          "laira",
          "uara-foresight",
          "foresight"};
}

std::vector<StrategyScore> run_robustness(const RobustnessSetting& setting) {
  const std::size_t strategies = setting.strategies.size();
  std::vector<std::vector<Sample>> samples(strategies, std::vector<Sample>(setting.runs));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < setting.runs; i = next++) {
      const std::uint64_t seed = setting.seed * 1'000'003 + i;
      const Workload load = draw_workload(setting.tasks, seed);
      for (std::size_t p = 0; p < strategies; ++p) {
        samples[p][i] = run_one(setting.strategies[p], load, seed);
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t j = 1; j < setting.jobs; ++j) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<StrategyScore> out;
  for (std::size_t p = 0; p < strategies; ++p) {
    StrategyScore score;
    score.name = published_name(setting.strategies[p]);
    score.success_pct = measured(samples[p], kSuccess);
    score.latency = measured(samples[p], kLatency);
    score.energy = measured(samples[p], kEnergy);
    score.efficiency = measured(samples[p], kEfficiency);
    score.link_use = measured(samples[p], kLinkUse);
    score.lane_use = measured(samples[p], kLaneUse);
    out.push_back(std::move(score));
  }
  return out;
}

}  // namespace laird::lab
