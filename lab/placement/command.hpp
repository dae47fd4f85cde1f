#pragma once

#include "lab/commands.hpp"

namespace laird::lab {

// Adds `laird-lab placement`.
void add_placement(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
