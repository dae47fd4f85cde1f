#include "lab/watts/before.hpp"

#include <algorithm>

#include "agent/placement/need.hpp"

namespace laird::lab {
namespace {

using consensus::kUrgencyOne;
using consensus::kWhole;
using consensus::Parts;

__extension__ using Wide = __int128;

// 1 at a slack of 10 or more, rising as 10 / slack up to 10.
double urgency_of(const placement::Pace& pace) {
  return std::clamp(10.0 * pace.lane_share(), 1.0, 10.0);
}

}  // namespace

consensus::Demand demand_before(const core::State& state, const core::Division& division) {
  const std::int64_t full_mw = state.config.meter.gpu_weight;
  const auto full = static_cast<Parts>(
      std::min<Wide>(static_cast<Wide>(full_mw) * kWhole / division.divided, kWhole));
  double needed = 0.0;  // of the lane
  double weighted = 0.0;
  for (const core::Task& task : state.live) {
    if (task.outcome != core::Outcome::kNone) continue;
    const placement::Pace pace = placement::pace_of(placement::need_of(task, task.rate, state.now));
    needed += pace.lane_share();
    weighted += pace.lane_share() * urgency_of(pace);
  }
  consensus::Demand out;
  out.cap = full;
  out.demand = std::min(kWhole, static_cast<Parts>(needed * static_cast<double>(full)));
  out.urgency = static_cast<std::uint16_t>(kUrgencyOne * (needed > 0.0 ? weighted / needed : 1.0));
  return consensus::in_range(out);
}

}  // namespace laird::lab
