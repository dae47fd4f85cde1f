// A recorded fleet as one page: shares, power against the budget, tasks and forecasts over time.
#pragma once

#include <string>

#include "lab/fleet/verdict.hpp"

namespace laird::lab {

[[nodiscard]] std::string fleet_page(const FleetRecording& recording, const FleetVerdict& verdict);
// The same in a few lines for a terminal.
[[nodiscard]] std::string fleet_text(const FleetRecording& recording, const FleetVerdict& verdict);

// A line for each of the first tasks: where, how and when it ended.
[[nodiscard]] std::string tasks_table_text(const FleetRecording& recording);

}  // namespace laird::lab
