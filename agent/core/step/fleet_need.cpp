// From the need to demand: how much of each resource this board's tasks need so that every task
// that can still meet its deadline does.
//
// Source: our own, for the costs f_i of the co-optimization paper (Doostmohammadian et al. 2025).
// The cost function is in consensus/ledger/demand.hpp, what a task needs in
// agent/placement/need.hpp; docs/ledger.md, "Price and grant". Symbols: time at full speed = the
// median need in seconds of the lane, full = what its lane takes of the resource while a task runs
// (mW, thousandths of a core, millionths of a gpu).
#include "agent/core/step/fleet_need.hpp"

#include <algorithm>

#include "agent/placement/need.hpp"

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

// The ledger counts work in parts times seconds, in 64 bits. For longer tasks both times are scaled
// down by the same factor.
constexpr DurationNs kTimeScaleMax = 1'000'000 * kSecond;

// The amount of the resource that the lane takes while a task runs on it.
std::int64_t full_of(const CoreConfig& config, const LaneConfig& lane, Resource resource) {
  switch (resource) {
    case Resource::kCpu: return lane.cores_milli;
    case Resource::kGpu: return lane.kind == LaneKind::kGpu ? 1'000'000 : 0;
    case Resource::kPower:
      return std::clamp<std::int64_t>(
          lane.kind == LaneKind::kGpu ? config.meter.gpu_weight : config.meter.cpu_weight, 0,
          kAmountMax);
  }
  return 0;
}

}  // namespace

consensus::Demand demand_of(const State& state, Resource resource) {
  const TimeNs wall_now = state.now + state.wall_minus_agent;
  const std::int64_t divided = state.fleet.budget.divided_at(resource, wall_now);
  consensus::Demand none;
  none.cap = 0;
  if (divided <= 0) return none;
  const auto parts_of = [divided](std::int64_t amount) {
    return static_cast<consensus::Parts>(
        std::min<Wide>(static_cast<Wide>(amount) * consensus::kWhole / divided, consensus::kWhole));
  };
  std::int64_t full_all = 0;
  for (const Lane& lane : state.lanes) full_all += full_of(state.config, lane.config, resource);

  std::vector<consensus::TaskNeed> needs;
  for (const Task& task : state.live) {
    if (task.outcome != Outcome::kNone || task.state == TaskState::kPaused ||
        task.state == TaskState::kPausing) {
      continue;
    }
    std::int64_t full = 0;
    for (const Lane& lane : state.lanes) {
      if (lane.config.kind != task.spec.lane) continue;
      full = std::max(full, full_of(state.config, lane.config, resource));
    }
    if (full == 0) continue;
    placement::Pace pace = placement::pace_of(placement::need_of(task, task.rate, state.now));
    if (pace.left > kTimeScaleMax) {
      const double scale = static_cast<double>(kTimeScaleMax) / static_cast<double>(pace.left);
      pace.at_full_speed = static_cast<DurationNs>(static_cast<double>(pace.at_full_speed) * scale);
      pace.left = kTimeScaleMax;
    }
    const Wide work = static_cast<Wide>(parts_of(full)) * pace.at_full_speed / kSecond;
    needs.push_back({static_cast<std::int64_t>(work), pace.left, pace.at_full_speed});
  }
  return consensus::demand_from(needs, {0, parts_of(full_all)});
}

}  // namespace laird::core
