#pragma once

#include "lab/commands.hpp"

namespace laird::lab {

// `laird-lab ledger`: convergence and fault schedules of the share ledger.
void add_ledger(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
