#include "agent/whatif/recording.hpp"

#include <algorithm>

namespace laird::whatif {
namespace {

// The speed beyond what was recorded is the mean of this last part of it.
constexpr double kLastPart = 0.25;

}  // namespace

bool is_at_work(core::TaskState state) {
  return state == core::TaskState::kRunning || state == core::TaskState::kPreempting;
}

bool was_told_to_go(core::TaskState state) {
  return state == core::TaskState::kEvicting || state == core::TaskState::kPausing ||
         state == core::TaskState::kFinishing;
}

TimeNs Recording::wall_at(TimeNs agent) const {
  const auto next = std::upper_bound(clock.begin(), clock.end(), agent,
                                     [](TimeNs at, const ClockSpan& s) { return at < s.from; });
  if (clock.empty()) return agent + wall_minus_agent;
  return agent + (next == clock.begin() ? *next : *std::prev(next)).wall_minus_agent;
}

TimeNs Recording::agent_at(TimeNs wall) const {
  const auto next = std::upper_bound(
      clock.begin(), clock.end(), wall,
      [](TimeNs at, const ClockSpan& s) { return at < s.from + s.wall_minus_agent; });
  if (clock.empty()) return wall - wall_minus_agent;
  return wall - (next == clock.begin() ? *next : *std::prev(next)).wall_minus_agent;
}

void TaskRecord::finish() {
  if (work.size() >= 2) {
    const WorkPoint& last = work.back();
    const double begin =
        static_cast<double>(work.front().samples) +
        (1.0 - kLastPart) * static_cast<double>(last.samples - work.front().samples);
    const double samples = static_cast<double>(last.samples) - begin;
    if (samples > 0.0) last_ns_per_sample_ = (last.work_ns - work_at(begin)) / samples;
  }
  if (last_ns_per_sample_ <= 0.0 && rate > 0.0) last_ns_per_sample_ = 1e9 / rate;
  std::vector<std::uint64_t> gaps;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    if (curve[i].regular && curve[i - 1].regular) {
      gaps.push_back(curve[i].samples - curve[i - 1].samples);
    }
  }
  spacing_ = std::max<std::uint64_t>(1, spec.report_every);
  if (gaps.empty()) return;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  spacing_ = std::max(spacing_, *middle);
}

std::uint64_t TaskRecord::spacing() const { return spacing_; }

double TaskRecord::work_at(double samples) const {
  if (work.empty()) return 0.0;
  const WorkPoint& last = work.back();
  if (samples >= static_cast<double>(last.samples)) {
    return last.work_ns + (samples - static_cast<double>(last.samples)) * last_ns_per_sample_;
  }
  const auto next = std::upper_bound(
      work.begin(), work.end(), samples,
      [](double s, const WorkPoint& p) { return s < static_cast<double>(p.samples); });
  if (next == work.begin()) return work.front().work_ns;
  const WorkPoint& before = *std::prev(next);
  const double part = (samples - static_cast<double>(before.samples)) /
                      static_cast<double>(next->samples - before.samples);
  return before.work_ns + part * (next->work_ns - before.work_ns);
}

double TaskRecord::samples_at(double work_ns) const {
  if (work.empty()) return 0.0;
  const WorkPoint& last = work.back();
  if (work_ns >= last.work_ns) {
    const double beyond =
        last_ns_per_sample_ > 0.0 ? (work_ns - last.work_ns) / last_ns_per_sample_ : 0.0;
    return static_cast<double>(last.samples) + beyond;
  }
  const auto next = std::upper_bound(work.begin(), work.end(), work_ns,
                                     [](double w, const WorkPoint& p) { return w < p.work_ns; });
  if (next == work.begin()) return static_cast<double>(work.front().samples);
  const WorkPoint& before = *std::prev(next);
  const double part = (work_ns - before.work_ns) / (next->work_ns - before.work_ns);
  return static_cast<double>(before.samples) +
         part * static_cast<double>(next->samples - before.samples);
}

std::optional<double> TaskRecord::loss_at(std::uint64_t samples) const {
  if (curve.empty() || samples > curve.back().samples) return std::nullopt;
  const auto next =
      std::lower_bound(curve.begin(), curve.end(), samples,
                       [](const CurvePoint& p, std::uint64_t s) { return p.samples < s; });
  if (next->samples == samples || next == curve.begin()) return next->loss;
  const CurvePoint& before = *std::prev(next);
  const double part = static_cast<double>(samples - before.samples) /
                      static_cast<double>(next->samples - before.samples);
  return before.loss + part * (next->loss - before.loss);
}

}  // namespace laird::whatif
