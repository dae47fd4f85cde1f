// Moves tasks from one board to another by their boards' own verb, and says what became of them.
#pragma once

#include "base/time.hpp"
#include "control/fleet/fleet_client.hpp"
#include "control/plan/moves.hpp"

namespace laird::control {

// Says how it goes. 0: the other board has it.
[[nodiscard]] int move_task(FleetClient& client, const Move& move, DurationNs timeout);
// One after the other. What a board refuses stays where it is.
[[nodiscard]] int carry_out(FleetClient& client, const std::vector<Move>& moves,
                            DurationNs timeout);

}  // namespace laird::control
