
#include "cli/command.hpp"
#include "lab/commands.hpp"
#include "lab/cotrain/command.hpp"
#include "lab/governor/command.hpp"
#include "lab/ledger/command.hpp"
#include "lab/placement/command.hpp"
#include "lab/titles/command.hpp"

int main(int argc, char** argv) {
  laird::cli::Command app{
      "laird-lab: simulate, replay and measure, with the same core the boards run"};
  app.set_version(LAIRD_VERSION);
  app.require_subcommand();
  laird::lab::ExitCode code;
  laird::lab::add_fleet(app, code);
  laird::lab::add_forecast(app, code);
  laird::lab::add_governor(app, code);
  laird::lab::add_ledger(app, code);
  laird::lab::add_cotrain(app, code);
  laird::lab::add_laira(app, code);
  laird::lab::add_placement(app, code);
  laird::lab::add_robustness(app, code);
  laird::lab::add_titles(app, code);
  laird::lab::add_watts(app, code);
  if (const std::optional<int> ended = app.parse(argc, argv)) return *ended;
  return code.value;
}
