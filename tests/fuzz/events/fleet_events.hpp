// Bytes as the life of a board's fleet: peers that lie in well-formed messages and in broken ones,
// budgets, and commands of operators.
#pragma once

#include "agent/core/step/step.hpp"
#include "tests/fuzz/events/feed.hpp"

namespace laird::fuzz {

// Makes the board the member n-0 of a fleet of five.
void join_fleet(core::CoreConfig& config, Feed& feed);
[[nodiscard]] core::EventBody fleet_says(Feed& feed, const core::State& state);

}  // namespace laird::fuzz
