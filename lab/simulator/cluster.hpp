// Several boards in one virtual time, behind one network: a task goes to the board with the fewest
// live tasks when it arrives, and its trainer is ready once the task's data has come over the link.
// Each board is the unchanged core with one lane.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/simulator/curve_board.hpp"

namespace laird::lab {

struct ClusterTask {
  SimulatedTask task;
  double transfer = 0.0;     // what has to come over the link first
  double delay_units = 0.0;  // after that, until it is there
};

struct ClusterSetting {
  std::size_t boards = 1;
  double link_per_unit = 1.0;
  std::string policy;
  std::uint64_t seed = 1;
};

struct ClusterResult {
  std::vector<TimeNs> succeeded_at;  // per task, kNever when it did not; from the start of the run
  double work_units = 0.0;           // lane time in use, over all boards
  double link_busy_units = 0.0;
  double horizon_units = 0.0;  // to the last deadline
  std::uint64_t switches = 0;
  std::uint64_t grants = 0;
};

struct ClusterGrant {
  std::size_t board;
  std::size_t task;
  double from_units;
  double to_units;
  double share;
};

// `trace`, when given, is called for each grant that has ended.
[[nodiscard]] ClusterResult run_cluster(const ClusterSetting& setting,
                                        const std::vector<ClusterTask>& tasks,
                                        const std::function<void(const ClusterGrant&)>& trace = {});

}  // namespace laird::lab
