#include "agent/placement/prospect.hpp"

#include <algorithm>

namespace laird::placement {

double Prospect::need_quantile(double u) const {
  double below = 0.0;
  double from = 0.0;
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    if (within[j] >= u) {
      const double part = within[j] > below ? (u - below) / (within[j] - below) : 1.0;
      return length * (from + part * (kNeedParts[j] - from));
    }
    below = std::max(below, within[j]);
    from = kNeedParts[j];
  }
  return length * from;
}

double Prospect::within_samples(double samples) const {
  const double part = samples / length;
  double below = 0.0;
  double from = 0.0;
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    const double up_to = std::max(below, within[j]);
    if (part < kNeedParts[j]) {
      return below + (up_to - below) * std::max(0.0, part - from) / (kNeedParts[j] - from);
    }
    below = up_to;
    from = kNeedParts[j];
  }
  return 1.0;
}

Prospect prospect_of(const core::Task& task, double speed) {
  const auto planned = static_cast<double>(task.planned_samples);
  const double allowed = speed * static_cast<double>(task.deadline_at - task.accepted_at) / 1e9;
  const double end = planned > 0.0 ? planned : allowed;
  // A crash takes the task's samples back; the forecaster has seen what comes next.
  const double now = std::max(static_cast<double>(task.samples), task.forecast.samples());
  Prospect out;
  out.length = std::max(1.0, end - now);
  std::array<double, kNeedParts.size()> samples;
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    samples[j] = now + kNeedParts[j] * out.length;
  }
  task.forecast.probabilities_below(task.spec.target_loss, planned, now + out.length, samples,
                                    out.within);
  out.reach = out.within.back();
  for (double& by : out.within) by = out.reach > 0.0 ? by / out.reach : 1.0;
  return out;
}

}  // namespace laird::placement
