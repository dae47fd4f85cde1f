#include "consensus/ledger/demand.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// The parts that are needed to do the work in that time; at least one second is assumed to be left.
Parts rate(std::int64_t work_parts_seconds, DurationNs time) {
  if (work_parts_seconds <= 0) return 0;
  const DurationNs left = std::max(time, kSecond);
  const Wide parts = static_cast<Wide>(work_parts_seconds) * kSecond / left;
  return static_cast<Parts>(std::min<Wide>(parts, kWhole));
}

// Urgency is 1 at a slack of 10 or more and rises as 10 / slack, up to 10 at a slack of 1.
std::uint32_t urgency_of(const TaskNeed& task) {
  const DurationNs fast = std::max(task.time_at_full_speed, kMillisecond);
  const DurationNs left = std::clamp(task.time_left, fast, static_cast<DurationNs>(kDay * 365));
  const Wide u = static_cast<Wide>(kUrgencyOne) * 10 * fast / left;
  return static_cast<std::uint32_t>(std::clamp<Wide>(u, kUrgencyOne, kUrgencyOne * 10));
}

}  // namespace

Demand demand_from(const std::vector<TaskNeed>& tasks, const BoardLimits& limits) {
  Demand d;
  d.floor = std::clamp<Parts>(limits.floor, 0, kWhole);
  d.cap = std::clamp<Parts>(limits.cap, d.floor, kWhole);
  Wide weighted = 0;
  Parts total = 0;
  for (const TaskNeed& task : tasks) {
    const Parts need = rate(task.work_parts_seconds, task.time_left);
    total = std::min(kWhole, total + need);
    weighted += static_cast<Wide>(need) * urgency_of(task);
  }
  d.demand = std::max(total, d.floor);
  const Wide mean = total > 0 ? weighted / total : Wide{kUrgencyOne};
  d.urgency = static_cast<std::uint16_t>(std::clamp<Wide>(mean, kUrgencyOne, kUrgencyMax));
  return d;
}

double cost_of(const Demand& demand, Parts share) {
  const double miss = static_cast<double>(share - demand.demand);
  return 0.5 * static_cast<double>(demand.urgency) / kUrgencyOne * miss * miss /
         static_cast<double>(kWhole);
}

}  // namespace laird::consensus
