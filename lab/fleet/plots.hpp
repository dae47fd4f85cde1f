// The pictures of a fleet's page.
#pragma once

#include <string>

#include "lab/fleet/verdict.hpp"

namespace laird::lab {

// The moments that every picture marks: what was done to the fleet if that was noted, otherwise
// what the messages show of it.
[[nodiscard]] std::vector<FleetMark> marks_of(const FleetRecording& recording,
                                              const FleetVerdict& verdict);

// The power cap of a board over time.
[[nodiscard]] std::vector<Sample> caps_of(const FleetRecording& recording, const FleetNode& node);

[[nodiscard]] std::string budget_plot(const FleetRecording& recording, const FleetVerdict& verdict);
[[nodiscard]] std::string shares_plot(const FleetRecording& recording, const FleetVerdict& verdict);
[[nodiscard]] std::string power_plot(const FleetRecording& recording, const FleetVerdict& verdict);
[[nodiscard]] std::string tasks_timeline(const FleetRecording& recording,
                                         const FleetVerdict& verdict);
[[nodiscard]] std::string task_plots(const FleetRecording& recording);

}  // namespace laird::lab
