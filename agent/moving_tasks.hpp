// The files of tasks that move between boards: read where a task leaves, placed where it came.
#pragma once

#include <string>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/state.hpp"
#include "agent/os/log.hpp"

namespace laird::agent {

[[nodiscard]] core::CheckpointRead read_to_travel(const core::CopyCheckpoint& asked,
                                                  const core::Task& task,
                                                  const std::string& tasks_folder);
// Before the first start of a task that came from another board: what was copied of it goes into
// its folder. False when there is nothing, or the folder cannot be written; then it begins with
// what is there.
[[nodiscard]] bool place_what_came(const core::State& state, const core::Task& task,
                                   const std::string& tasks_folder, const Log& log);

}  // namespace laird::agent
