#include "agent/fleet/share_history.hpp"

#include <algorithm>

namespace laird::agent {
namespace {

constexpr std::size_t kPointsMax = 256;
constexpr DurationNs kRepeated = 30 * kSecond;
constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);

}  // namespace

void ShareHistory::note(const core::State& state, TimeNs wall, TimeNs now) {
  const core::Fleet& fleet = state.fleet;
  const DurationNs margin = core::fence_margin(state.config.slice, state.config.fleet.lease);
  const auto wall_of = [&](TimeNs at) { return at - now + wall; };
  const bool on_floor = fleet.on_floor(state.now + margin);
  // An agent that stood still past its fence granted nothing meanwhile: it fell at the fence.
  if (fence_ < state.now && last_.parts != 0) fall(wall_of(fence_), state);
  if (!on_floor) fence_ = std::min(fleet.ledger->fence_deadline(), now + core::kLeaseMax) - margin;
  if (on_floor) {
    add({wall / 1000, 0, fleet.enforced[kPower]});
  } else if (fence_ >= now) {
    add({wall / 1000, fleet.ledger->effective(now)[kPower], fleet.enforced[kPower]});
  } else if (last_.parts != 0) {
    fall(wall_of(fence_), state);
  }
}

void ShareHistory::give_up(const core::State& state, TimeNs wall, TimeNs now) {
  note(state, wall, now);
  fall(wall, state);
}

const std::deque<ShareHistory::Point>& ShareHistory::take(TimeNs wall) {
  fresh_ = false;
  const std::int64_t since_us = (wall - kRepeated) / 1000;
  while (points_.size() > 1 && points_[1].unix_us < since_us) points_.pop_front();
  return points_;
}

void ShareHistory::fall(TimeNs wall, const core::State& state) {
  const core::FleetMember* self = state.fleet.budget.member(state.config.node);
  // Not at the time of the point before: a point is known by its time.
  add({std::max(wall / 1000, last_.unix_us + 1), 0, self == nullptr ? 0 : self->floor[kPower]});
}

void ShareHistory::add(const Point& point) {
  if (point.parts == last_.parts && point.enforced_mw == last_.enforced_mw) return;
  last_ = point;
  if (points_.size() >= kPointsMax) points_.pop_front();
  points_.push_back(point);
  fresh_ = true;
}

}  // namespace laird::agent
