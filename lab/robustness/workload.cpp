#include "lab/robustness/workload.hpp"

#include <algorithm>
#include <cmath>

#include "lab/simulator/random.hpp"

namespace laird::lab {
namespace {

constexpr double kSamplesPerReport = 5.0;
constexpr double kArrivalsUntil = 45.0;
constexpr double kDelayMean = 3.0;
constexpr double kDelayJitter = 2.0;
constexpr double kNoise = 0.002;  // sigma, where losses begin near 1

// Energy per step of a node: idle, and on top of it with the lane in use.
constexpr double kIdleEnergy = 1.25;
constexpr double kWorkEnergy = 3.7;

// Near enough to a normal number, and the same on every machine.
[[nodiscard]] double normal(Random& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

[[nodiscard]] double log_between(Random& random, double low, double high) {
  return low * std::pow(high / low, random.unit());
}

}  // namespace

Workload draw_workload(std::size_t tasks, std::uint64_t seed) {
  Random random(seed);
  Workload out;
  for (std::size_t i = 0; i < tasks; ++i) {
    const double a = random.between(0.8, 1.2);
    const double b = random.between(0.3, 0.7);
    const double need = log_between(random, 60.0, 750.0);
    ClusterTask t;
    t.task.arrival_units = kArrivalsUntil * random.unit();
    t.task.deadline_units = random.between(25.0, 60.0);
    t.task.target_loss = a * std::pow(need, -b);
    t.transfer = random.between(40.0, 120.0);
    t.delay_units = random.between(kDelayMean - kDelayJitter, kDelayMean + kDelayJitter);
    // As many reports as a node could make of it, alone, until the deadline.
    const double samples = kNodeSamplesPerStep * t.task.deadline_units;
    const auto reports = static_cast<std::size_t>(std::ceil(samples / kSamplesPerReport));
    t.task.duration_units = static_cast<double>(reports) * kSamplesPerReport / kNodeSamplesPerStep;
    auto curve = std::make_unique<std::vector<double>>();
    for (std::size_t r = 1; r <= reports; ++r) {
      const double s = static_cast<double>(r) * kSamplesPerReport;
      curve->push_back(std::max(1e-4, a * std::pow(s, -b) + kNoise * normal(random)));
    }
    t.task.losses = curve.get();
    out.curves.push_back(std::move(curve));
    out.tasks.push_back(t);
  }
  return out;
}

double energy_of(const ClusterResult& run) {
  return kIdleEnergy * static_cast<double>(kStudyNodes) * run.horizon_units +
         kWorkEnergy * run.work_units;
}

}  // namespace laird::lab
