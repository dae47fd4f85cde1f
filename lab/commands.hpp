// Each experiment is one subcommand of laird-lab; it adds itself to the app and leaves its exit
// code.
#pragma once

namespace CLI {
class App;
}

namespace laird::lab {

struct ExitCode {
  int value = 0;  // 0 done, 1 failed, 2 usage
};

void add_fleet(CLI::App& app, ExitCode& code);
void add_forecast(CLI::App& app, ExitCode& code);
void add_laira(CLI::App& app, ExitCode& code);
void add_robustness(CLI::App& app, ExitCode& code);

}  // namespace laird::lab
