// Which earlier run a task's forecast began from, and how much of the forecast that run still has.
#pragma once

#include <optional>
#include <string>

#include "agent/core/state/task.hpp"

namespace laird::placement {

struct EarlierRun {
  core::TaskKey key = 0;  // 0: it ran on another board
  std::string board;      // that one
  std::string task;       // its name; empty when the state has forgotten that run
  double part = 0.0;      // of the forecast of where the run ends: 1 before the first report
};

// Nothing for a task that began without one. `earlier` is the task of the key `task.recalled`;
// nullptr when the state has forgotten it.
[[nodiscard]] std::optional<EarlierRun> earlier_run_of(const core::Task& task,
                                                       const core::Task* earlier);

// "the earlier run 'night-1' (task 7) has 64% of its forecast", "the earlier run 'night-1' on n-2
// has"
[[nodiscard]] std::string describe(const EarlierRun& run);

}  // namespace laird::placement
