// lairctl plan.
#pragma once

namespace laird::cli {
class Command;
}

namespace laird::control {

void add_plan(cli::Command& app, int& code);

}  // namespace laird::control
