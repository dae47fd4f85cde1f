
#include "agent/run.hpp"
#include "agent/settings/settings.hpp"
#include "cli/command.hpp"
#include "power/commands/commands.hpp"

int main(int argc, char** argv) {
  laird::cli::Command app{
      "laird: trains tasks on this board, each by its deadline, alone or with its fleet.\n"
      "Example: laird run --config laird.json"};
  app.set_version("laird " LAIRD_VERSION);
  app.require_subcommand();
  int code = 0;

  laird::agent::RunOptions options;
  options.version = LAIRD_VERSION;
  laird::cli::Command* run =
      app.add_subcommand("run", "Run this board.\nExample: laird run --config laird.json");
  run->add_option("--config,-c", options.config_path, "The agent's config, JSON with comments")
      ->required();
  run->add_option("--state-dir", options.state_dir, "Use this folder instead of the config's");
  run->add_option("--view", options.view, "What to show: auto, table, lines or none")
      ->check(laird::cli::one_of({"auto", "table", "lines", "none"}))
      ->show_default();
  run->add_flag("--until-done", options.until_done, "Exit once every task has ended");
  run->callback([&] { code = laird::agent::run_agent(options); });

  std::string file;
  bool reference = false;
  laird::cli::Command* check =
      app.add_subcommand("check",
                         "Check a config, board or task file; every problem at "
                         "once.\nExample: laird check laird.json");
  check->add_option("file", file, "The file to check");
  check->add_flag("--reference", reference, "Print the reference of all settings instead");
  check->callback([&] {
    if (reference) {
      std::fputs(laird::agent::settings_reference().c_str(), stdout);
    } else if (file.empty()) {
      std::fprintf(stderr, "laird check: name a file\n");
      code = 2;
    } else {
      code = laird::agent::check_file(file);
    }
  });

  laird::power::add_power_commands(app, code);

  if (const std::optional<int> ended = app.parse(argc, argv)) return *ended;
  return code == laird::agent::kRunAgain ? laird::agent::run_again(argv) : code;
}
