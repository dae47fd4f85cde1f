// Where a task that nobody has yet should go.
//
// The fleet's tasks and the new one are planned together; then the new task is tried on every other
// board at the place in its order that is best. Boards are ranked by the weight of the deadlines
// that would be missed, by when the new task would be done, and by its joules. The makespan does
// not rank them: whoever submits a task waits for that task, not for the fleet's last one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/placement/fleet/fleet_instance.hpp"

namespace laird::placement {

struct NewPlace {
  std::string board;
  Seconds done_in_s = 0;
  bool in_time = true;
  std::int64_t missed_weight = 0;  // of all tasks, in thousandths
  std::int64_t energy_j = 0;       // of this task
  TimeBasis time_by = TimeBasis::kDeadline;
  SpeedBasis speed_by = SpeedBasis::kHardware;
};

struct NewPlaces {
  std::vector<NewPlace> places;  // the best first
  struct Not {
    std::string board;
    std::string why;
  };
  std::vector<Not> cannot;
};

// Enough to plan a fleet of some hundred tasks well; some 0.1 s on a desktop.
inline constexpr std::uint64_t kNewTaskSteps = 300'000;

// The facts say nothing of the task yet. Deterministic.
[[nodiscard]] Result<NewPlaces> places_for(FleetFacts facts, TaskFact task,
                                           std::uint64_t steps_max = kNewTaskSteps);

}  // namespace laird::placement
