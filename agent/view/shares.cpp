#include "agent/view/shares.hpp"

namespace laird::agent {

std::optional<std::int64_t> demanded(const core::State& state, core::Resource resource,
                                     TimeNs now) {
  const core::Fleet& fleet = state.fleet;
  const core::FleetMember* self = fleet.budget.member(state.config.node);
  const TimeNs wall = now + state.wall_minus_agent;
  if (!fleet.ledger || self == nullptr ||
      fleet.budget.budget_at(resource, wall) == core::kUnlimited) {
    return std::nullopt;
  }
  const auto r = static_cast<std::size_t>(resource);
  const __int128 parts = fleet.ledger->demand(r).demand;
  const __int128 above = parts * fleet.budget.divided_at(resource, wall) / consensus::kWhole;
  return self->floor[r] + static_cast<std::int64_t>(above);
}

std::optional<std::int64_t> drawn_mw(const core::State& state) {
  // The mean of the throttle's bursts where it is known: a reading shows one moment of them.
  return state.power.mean_mw ? state.power.mean_mw : state.meter.last_total_mw();
}

}  // namespace laird::agent
