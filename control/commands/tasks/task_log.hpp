// What a task's trainer printed: for `logs TASK`.
#pragma once

#include <string>

#include "control/fleet/fleet_client.hpp"
#include "control/fleet/reach.hpp"

namespace laird::control {

struct TaskLogOptions {
  std::string task;
  bool follow = false;
  bool all = false;                      // not only the end of it
  SteadyTime until = SteadyTime::max();  // for `follow`
};

// The code to exit with.
[[nodiscard]] int show_task_log(const Reach& reach, const TaskLogOptions& options);

}  // namespace laird::control
