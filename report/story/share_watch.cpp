#include "report/story/share_watch.hpp"

namespace laird::story {
namespace {

// Points are compared to the microsecond. A fall and a rise within the same one would be sorted
// with the rise last.
constexpr DurationNs kAfter = 1000;
constexpr auto kPower = static_cast<std::size_t>(core::Resource::kPower);

}  // namespace

void ShareWatch::see(const core::Event& event, const core::State& state) {
  const core::Fleet& fleet = state.fleet;
  const core::FleetMember* self = fleet.budget.member(state.config.node);
  const std::int64_t floor = self == nullptr ? 0 : self->floor[kPower];
  // From its fence on a board uses nothing above its floor, whether its agent runs or not; and the
  // trainers of an agent that died died with it, after its last event.
  if (known_ && fence_at_ < state.now) add(fence_at_, 0, floor);
  if (known_ && std::holds_alternative<core::Booted>(event.body)) add(seen_at_ + kAfter, 0, floor);
  const DurationNs margin = core::fence_margin(state.config.slice, state.config.fleet.lease);
  const bool on_floor = fleet.on_floor(state.now + margin);
  add(state.now, on_floor ? 0 : fleet.ledger->effective(state.now)[kPower], fleet.enforced[kPower]);
  fence_at_ = on_floor || fleet.ledger->fence_deadline() > core::kTimeMax
                  ? core::kTimeMax
                  : fleet.ledger->fence_deadline() - margin;
  seen_at_ = state.now;
  known_ = fleet.member();
}

void ShareWatch::add(TimeNs at, std::int64_t parts, std::int64_t enforced_mw) {
  if (enforced_mw == core::kUnlimited) return;
  if (!points_.empty() && points_.back().parts == parts &&
      points_.back().enforced_mw == enforced_mw) {
    return;
  }
  points_.push_back({at, parts, enforced_mw});
}

}  // namespace laird::story
