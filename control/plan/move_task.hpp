// Moves a task from one board to another by its board's own verb, and says what became of it.
#pragma once

#include <string>

#include "base/time.hpp"
#include "control/fleet/fleet_client.hpp"

namespace laird::control {

struct Move {
  std::string task;
  std::string from;
  std::string to;
};
// Says how it goes. 0: the other board has it.
[[nodiscard]] int move_task(FleetClient& client, const Move& move, DurationNs timeout);

}  // namespace laird::control
