#pragma once

#include "lab/commands.hpp"

namespace laird::lab {

// Adds `laird-lab governor`.
void add_governor(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
