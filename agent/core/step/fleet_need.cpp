// From forecasts to demand: how much of each resource this board's tasks need so that every task
// that can still meet its deadline does.
//
// Source: our own, for the costs f_i of the co-optimization paper (Doostmohammadian et al. 2025).
// The cost function is in consensus/ledger/demand.hpp; docs/ledger.md, "Price and grant". Symbols:
// need = samples until the target by the forecast, rate = samples per second while the task runs,
// time at full speed = need / rate, full = what its lane takes of the resource while a task runs
// (mW, thousandths of a core, millionths of a gpu). A task that cannot meet its deadline even at
// full speed counts with a tenth of its lane at the lowest urgency: forecasts err, and that much is
// enough to find out. A task whose need is not known yet counts with half of its lane.
#include <algorithm>

#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

// The ledger counts work in parts times seconds, in 64 bits. For longer tasks both times are scaled
// down by the same factor.
constexpr DurationNs kTimeScaleMax = 1'000'000 * kSecond;
constexpr std::int64_t kUnknownPart = 2;    // a half
constexpr std::int64_t kUnlikelyPart = 10;  // a tenth

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

struct Pace {
  DurationNs left = 0;
  DurationNs at_full_speed = 0;  // 0: not known
};

Pace pace_of(const Task& task, TimeNs now) {
  Pace pace;
  pace.left = std::max<DurationNs>(task.deadline_at - now, kSecond);
  if (task.rate <= 0.0) return pace;
  const double planned = static_cast<double>(task.planned_samples);
  const estimators::NeedForecast need =
      task.forecast.samples_to_reach(task.spec.target_loss, planned);
  if (task.forecast.reports() < 2) return pace;
  const double seconds = std::min(need.samples / task.rate, 1e9);
  pace.at_full_speed = std::max<DurationNs>(static_cast<DurationNs>(seconds * 1e9), kMillisecond);
  return pace;
}

}  // namespace

consensus::Demand Stepper::demand_for(Resource resource) const {
  const std::int64_t divided = s_.fleet.budget.divided_at(resource, wall_now());
  consensus::Demand none;
  none.cap = 0;
  if (divided <= 0) return none;
  const auto parts_of = [divided](std::int64_t amount) {
    return static_cast<consensus::Parts>(
        std::min<Wide>(static_cast<Wide>(amount) * consensus::kWhole / divided, consensus::kWhole));
  };
  std::int64_t full_all = 0;
  for (const Lane& lane : s_.lanes) full_all += full_of(s_.config, lane.config, resource);

  std::vector<consensus::TaskNeed> needs;
  for (const Task& task : s_.live) {
    if (task.outcome != Outcome::kNone || task.state == TaskState::kPaused ||
        task.state == TaskState::kPausing) {
      continue;
    }
    std::int64_t full = 0;
    for (const Lane& lane : s_.lanes) {
      if (lane.config.kind != task.spec.lane) continue;
      full = std::max(full, full_of(s_.config, lane.config, resource));
    }
    if (full == 0) continue;
    Pace pace = pace_of(task, s_.now);
    if (pace.at_full_speed == 0) pace.at_full_speed = pace.left / kUnknownPart;
    if (pace.at_full_speed > pace.left) {
      pace.left *= 10;
      pace.at_full_speed = pace.left / kUnlikelyPart;
    }
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
