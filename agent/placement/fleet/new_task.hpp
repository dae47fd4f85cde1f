// Where a task that nobody has yet should go.
//
// No task moves by itself, so every other task stays on its board, and each board is planned by
// itself: its tasks in their best order, without the new one. Then the new task is tried on each
// lane, after all that are there, or before the fewest of them that make the weight of missed
// deadlines least: whoever came first is not delayed for nothing. Boards are ranked by the weight
// of the deadlines that are missed because of it, its own among them, by when the new task would be
// done, and by its joules. The makespan does not rank them: whoever submits a task waits for that
// task, not for the fleet's last one.
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
  std::int64_t missed_weight = 0;  // of the deadlines missed because of it, in thousandths
  std::int64_t energy_j = 0;       // of this task; 0: not known
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

// Enough to order the tasks of a fleet well; some 0.1 s on a desktop.
inline constexpr std::uint64_t kNewTaskSteps = 300'000;

// The facts say nothing of the task yet. `steps_max`: of the search, for all boards together.
// Deterministic. The error says why no board could be asked.
[[nodiscard]] Result<NewPlaces> places_for(FleetFacts facts, TaskFact task,
                                           std::uint64_t steps_max = kNewTaskSteps);

}  // namespace laird::placement
