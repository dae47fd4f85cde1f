#include <CLI/CLI.hpp>

#include "lab/commands.hpp"
#include "lab/cotrain/command.hpp"
#include "lab/governor/command.hpp"
#include "lab/ledger/command.hpp"

int main(int argc, char** argv) {
  CLI::App app{"laird-lab: simulate, replay and measure, with the same core the boards run"};
  app.set_version_flag("--version", LAIRD_VERSION);
  app.require_subcommand(1);
  laird::lab::ExitCode code;
  laird::lab::add_fleet(app, code);
  laird::lab::add_forecast(app, code);
  laird::lab::add_governor(app, code);
  laird::lab::add_ledger(app, code);
  laird::lab::add_cotrain(app, code);
  laird::lab::add_laira(app, code);
  laird::lab::add_robustness(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return code.value;
}
