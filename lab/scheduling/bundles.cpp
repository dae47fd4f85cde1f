#include "lab/scheduling/bundles.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/require.hpp"
#include "lab/forecast/evaluate.hpp"

namespace laird::lab {
namespace {

[[nodiscard]] double draw_target(const std::vector<double>& losses, Random& random) {
  const bool reachable = random.unit() < 0.7;
  const double where = random.unit();
  const std::size_t n = losses.size();
  if (!reachable) {
    return *std::min_element(losses.begin(), losses.end()) * (0.75 + 0.23 * where);
  }
  const auto point = static_cast<std::size_t>(static_cast<double>(n) * (0.15 + 0.55 * where));
  const auto end = losses.begin() + static_cast<std::ptrdiff_t>(std::min(point, n - 1)) + 1;
  return *std::min_element(losses.begin(), end);
}

}  // namespace

BundleDraw draw_task(const Curve& curve, Random& random) {
  BundleDraw draw;
  draw.deadline_units = random.between(500.0, 1600.0);
  draw.duration_units = random.between(250.0, 900.0);
  draw.target_loss = draw_target(curve.loss, random);
  return draw;
}

std::vector<SimulatedTask> draw_bundle(const std::vector<Curve>& curves,
                                       const BundleSetting& setting, std::uint64_t seed) {
  LAIRD_REQUIRE(curves.size() >= kBundleTasks, "a bundle needs different curves");
  Random random(seed);
  std::vector<std::size_t> order(curves.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<SimulatedTask> tasks;
  for (std::size_t i = 0; i < kBundleTasks; ++i) {
    std::swap(order[i], order[i + random.below(order.size() - i)]);
    const Curve& curve = curves[order[i]];
    SimulatedTask task;
    task.losses = &curve.loss;
    const BundleDraw draw = draw_task(curve, random);
    task.deadline_units = draw.deadline_units;
    task.duration_units = draw.duration_units;
    task.target_loss = draw.target_loss;
    task.planned_length_known = setting.planned_length_known;
    if (!setting.earlier.empty()) task.earlier = &setting.earlier[order[i]];
    task.forecast_constants = &untuned_on(curve.source);
    // Drawn in any case, so that bundles with and without arrivals are otherwise the same.
    task.arrival_units = setting.arrivals_until_units * random.unit();
    tasks.push_back(task);
  }
  return tasks;
}

std::size_t most_on_time(const std::vector<SimulatedTask>& tasks) {
  struct Job {
    double deadline;
    double need;
  };
  std::vector<Job> jobs;
  for (const SimulatedTask& task : tasks) {
    const double need = need_units(task);
    if (need >= 0.0) jobs.push_back({task.arrival_units + task.deadline_units, need});
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const Job& a, const Job& b) { return a.deadline < b.deadline; });
  std::priority_queue<double> kept;
  double total = 0.0;
  for (const Job& job : jobs) {
    kept.push(job.need);
    total += job.need;
    if (total > job.deadline) {
      total -= kept.top();
      kept.pop();
    }
  }
  return kept.size();
}

}  // namespace laird::lab
