// From needs to demand: what a board's tasks ask of the fleet, so that those that can still meet
// their deadlines do, and what the board could use beyond that.
#pragma once

#include "agent/core/state/state.hpp"
#include "consensus/ledger/demand.hpp"

namespace laird::core {

// What the fleet divides above all floors, and what of the resource is reserved for this board, in
// the units of Amounts.
struct Division {
  std::int64_t divided = 0;
  std::int64_t reserved = 0;
};

// In the board's own fleet; without a budget nothing is demanded.
[[nodiscard]] consensus::Demand demand_of(const State& state, Resource resource);

// The two sides of it, in a division that is given, with something to divide.
[[nodiscard]] consensus::BoardLimits limits_of(const State& state, Resource resource,
                                               const Division& division);
[[nodiscard]] std::vector<consensus::TaskNeed> needs_of(const State& state, Resource resource,
                                                        const Division& division);

}  // namespace laird::core
