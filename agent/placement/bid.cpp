#include "agent/placement/bid.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "agent/placement/need.hpp"
#include "base/duration.hpp"

namespace laird::placement {
namespace {

using core::Outcome;
using core::Task;

constexpr double kFreeShareMin = 0.02;
// Without history of the trainer nothing is promised.
constexpr double kProbabilityUnknown = 0.5;

bool is_alike(const Task& task, const core::TaskSpec& spec) {
  return task.spec.trainer == spec.trainer && task.spec.lane == spec.lane && task.busy_ns > kSecond;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What the live tasks of that kind of lane still ask of it, in whole lanes.
// A paused task counts: it is owed its lane once it is resumed. One that weighs less than the new
// task is owed as much less of what the new task would have.
double owed_share(const core::State& state, const core::TaskSpec& spec, TimeNs now) {
  double owed = 0.0;
  for (const Task& task : state.live) {
    if (task.spec.lane != spec.lane || task.outcome != Outcome::kNone) continue;
    const bool heavier = task.spec.weight_milli >= spec.weight_milli;
    const double gives_way = heavier ? 1.0 : task.spec.weight() / spec.weight();
    owed += gives_way * pace_of(need_of(task, task.rate, now)).lane_share();
  }
  return owed;
}

}  // namespace

Bid bid_for(const core::State& state, const core::TaskSpec& spec, Status admits, TimeNs now) {
  Bid bid;
  bid.admits = std::move(admits);
  if (!bid.admits) return bid;
  std::vector<double> rates;
  std::vector<double> works;
  const auto learn = [&](const Task& task) {
    if (!is_alike(task, spec)) return;
    rates.push_back(task.rate);
    // What began with an earlier run's model took fewer samples than a new task will.
    const bool from_nothing = task.warm_from == 0;
    if (task.outcome == Outcome::kSucceeded && task.spec.params == spec.params && from_nothing) {
      works.push_back(static_cast<double>(task.samples));
    }
  };
  for (const Task& task : state.ended) learn(task);
  for (const Task& task : state.live) learn(task);
  bid.rate = median(rates);
  bid.samples = median(works);
  if (bid.samples == 0.0) bid.samples = static_cast<double>(spec.planned_samples);

  double lanes = 0.0;
  for (const core::Lane& lane : state.lanes) lanes += lane.config.kind == spec.lane ? 1.0 : 0.0;
  bid.free_share = std::clamp(lanes - owed_share(state, spec, now), kFreeShareMin, 1.0);
  bid.basis = std::to_string(rates.size()) + " tasks of trainer '" + spec.trainer + "', " +
              std::to_string(works.size()) + " of the same work";
  bid.probability = kProbabilityUnknown * bid.free_share;
  if (bid.rate <= 0.0 || bid.samples <= 0.0) return bid;
  const double busy_s = bid.samples / bid.rate;
  bid.finish_in_s = busy_s / bid.free_share;
  const double lane_mw =
      static_cast<double>(spec.lane == core::LaneKind::kGpu ? state.config.meter.gpu_weight
                                                            : state.config.meter.cpu_weight);
  bid.energy_j = lane_mw * 1e-3 * busy_s;
  const DurationNs after =
      spec.deadline_after > 0 ? spec.deadline_after : spec.every.window.length();
  const double left = spec.deadline_wall > 0
                          ? seconds(spec.deadline_wall - state.wall_minus_agent - now)
                          : seconds(after);
  // A simple odds: half as much time as needed leaves little hope, twice as much little doubt.
  const double ratio = std::max(left, 0.0) / std::max(bid.finish_in_s, 1e-3);
  bid.probability = ratio * ratio / (1.0 + ratio * ratio);
  return bid;
}

json::Value bid_json(const Bid& bid) {
  using json::Value;
  const auto known = [](double value) { return value < 0.0 ? Value() : Value::number(value); };
  Value out = Value::object().set("admits", bid.admits.has_value());
  if (!bid.admits) return out.set("why", bid.admits.error().context);
  return out.set("probability", bid.probability)
      .set("finish_in_s", known(bid.finish_in_s))
      .set("energy_j", known(bid.energy_j))
      .set("free_share", bid.free_share)
      .set("basis", bid.basis);
}

}  // namespace laird::placement
