// laird-power: the power commands on their own, for boards and laptops without the agent.
#include <CLI/CLI.hpp>

#include "power/commands/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app{"laird-power: read, watch and report the power of a Jetson"};
  app.set_version_flag("--version", LAIRD_VERSION);
  app.require_subcommand(1);
  int code = 0;
  laird::power::add_power_commands(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  return code;
}
