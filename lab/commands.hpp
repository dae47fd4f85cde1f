// Each experiment is one subcommand of laird-lab; it adds itself to the app and leaves its exit
// code.
#pragma once

namespace laird::cli {
class Command;
}

namespace laird::lab {

struct ExitCode {
  int value = 0;  // 0 done, 1 failed, 2 usage
};

void add_fleet(cli::Command& app, ExitCode& code);
void add_forecast(cli::Command& app, ExitCode& code);
void add_laira(cli::Command& app, ExitCode& code);
void add_robustness(cli::Command& app, ExitCode& code);
void add_watts(cli::Command& app, ExitCode& code);

}  // namespace laird::lab
