// What the planner needs to know of a fleet, from the boards' retained topics. Pure.
#pragma once

#include "agent/placement/fleet/facts.hpp"
#include "control/fleet/fleet_view.hpp"
#include "power/model/board.hpp"

namespace laird::control {

[[nodiscard]] placement::FleetFacts fleet_facts(const FleetView& view, const std::string& fleet);

// A board of that module as it comes: idle, with nothing learned yet.
[[nodiscard]] placement::BoardFact board_of_module(const power::Board& module);

}  // namespace laird::control
