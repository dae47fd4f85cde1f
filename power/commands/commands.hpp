// The commands `power watch|parse|report|metrics` and `board`, for any program.
#pragma once

namespace laird::cli {
class Command;
}

namespace laird::power {

// Adds them to `app`; running one leaves 0 (done), 1 (failed) or 2 (wrong use) in `exit_code`,
// which must outlive the parse.
void add_power_commands(cli::Command& app, int& exit_code);

}  // namespace laird::power
