// The files of a task's checkpoint, read from its folder to travel with the task, and put into its
// folder on another board. The folder is a trainer's: it may hold anything.
#pragma once

#include <string>
#include <vector>

#include "agent/core/state/event.hpp"
#include "base/error.hpp"

namespace laird::agent {

struct CheckpointFiles {
  std::vector<core::CopiedFile> files;
  bool too_large = false;  // there is more than may travel; then no file is given
};
// The plain files at the top of the folder, but for those that a trainer writes only to be safe
// (unfinished, the one before, damaged) and what it has for its group.
[[nodiscard]] CheckpointFiles read_checkpoint_files(const std::string& folder);
// Empties the folder of such files and writes these, each whole.
[[nodiscard]] Status place_checkpoint_files(const std::string& folder,
                                            const std::vector<core::CopiedFile>& files);

}  // namespace laird::agent
