
#include "agent/join/board_join.hpp"
#include "agent/run.hpp"
#include "agent/selftest/selftest.hpp"
#include "agent/settings/settings.hpp"
#include "agent/upgrade/board_upgrade.hpp"
#include "cli/command.hpp"
#include "config/units.hpp"
#include "os/process_end.hpp"
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
                         "once. Of a task also what its trainer finds in params and data.\n"
                         "Example: laird check laird.json");
  check->add_option("file", file, "The file to check");
  bool no_data = false;
  check->add_flag("--no-data", no_data, "Do not look at a task's data: it is on the boards");
  check->add_flag("--reference", reference, "Print the reference of all settings instead");
  check->callback([&] {
    if (reference) {
      std::fputs(laird::agent::settings_reference().c_str(), stdout);
    } else if (file.empty()) {
      std::fprintf(stderr, "laird check: name a file\n");
      code = 2;
    } else {
      code = laird::agent::check_file(file, no_data);
    }
  });

  laird::agent::JoinOptions joining;
  joining.version = LAIRD_VERSION;
  laird::cli::Command* join = app.add_subcommand(
      "join",
      "Ask a fleet for this board's place, by what an image brought (lairctl join image).\n"
      "laird-join.service runs it where /etc/laird/join is there and laird.json is not.");
  join->add_option("--image", joining.image, "The folder that the image brought")->show_default();
  join->add_option("--state", joining.state, "Where the key and the answer are kept meanwhile")
      ->show_default();
  join->add_option("--etc", joining.etc, "Where laird.json and tls go")->show_default();
  join->add_option("--group", joining.group, "Who may read them")->show_default();
  join->add_option("--root", joining.root, "Read /sys and /proc below this folder");
  join->add_flag("--install", joining.install,
                 "The other half, as root: judge the answer that was kept, and put it in place");
  join->callback([&] { code = laird::agent::join_fleet(joining); });

  laird::agent::UpgradeOptions upgrading;
  std::string health = "5m";
  std::string steady = "10s";
  laird::cli::Command* upgrade = app.add_subcommand(
      "upgrade",
      "Install the version that an operator asked for, on trial, and go back if it is not well.\n"
      "laird-upgrade.service runs it as root; the asking is `lairctl upgrade`.");
  upgrade->add_option("--config,-c", upgrading.config, "The agent's config")->show_default();
  upgrade->add_option("--folder", upgrading.folder, "Where packages and the trial are kept")
      ->show_default();
  upgrade->add_option("--health", health, "How long the new version has to show that it is well")
      ->show_default();
  upgrade->add_option("--steady", steady, "How long the agent must answer without a gap")
      ->show_default();
  upgrade->add_flag("--back", upgrading.back, "Only go back from a trial that did not end");
  upgrade->callback([&] {
    const auto within = laird::config::parse_duration(health);
    const auto for_so_long = laird::config::parse_duration(steady);
    if (!within || !for_so_long) {
      std::fprintf(stderr, "laird upgrade: --health and --steady are durations, such as 5m\n");
      code = 2;
      return;
    }
    upgrading.health = *within;
    upgrading.steady = *for_so_long;
    code = laird::agent::upgrade_board(upgrading);
  });

  laird::power::add_power_commands(
      app, code,
      [](const auto& wish, const auto& machine, const auto& found) {
        return laird::agent::selftest::run({wish, LAIRD_VERSION}, {machine, found});
      },
      laird::agent::selftest::run_gpu_check);

  if (const std::optional<int> ended = app.parse(argc, argv)) laird::end_process(*ended);
  laird::end_process(code == laird::agent::kRunAgain ? laird::agent::run_again(argv) : code);
}
