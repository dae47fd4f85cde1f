#pragma once

#include "lab/commands.hpp"

namespace laird::lab {

// `laird-lab titles`: who holds a task that may move, under schedules of faults.
void add_titles(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
