// From needs to demand: what a board's tasks ask of the fleet, so that those that can still meet
// their deadlines do.
#pragma once

#include "agent/core/state/state.hpp"
#include "consensus/ledger/demand.hpp"

namespace laird::core {

[[nodiscard]] consensus::Demand demand_of(const State& state, Resource resource);

}  // namespace laird::core
