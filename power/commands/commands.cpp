#include "power/commands/commands.hpp"

#include <cstdio>

#include "cli/command.hpp"
#include "power/commands/parts.hpp"

namespace laird::power {

void BoardChoice::add_options(cli::Command& command) {
  command.add_option("--board", name, "Use this board's rules (see 'board --list')");
  command.add_option("--boards", folder, "Folder of board files that take precedence");
}

Result<Board> choose_board(const BoardChoice& choice) {
  if (!choice.name.empty()) return find_board(choice.name, choice.folder);
  return detect_board(read_identity(choice.root), all_boards(choice.folder)).board;
}

Result<Board> board_for_file(const BoardChoice& choice) {
  return find_board(choice.name.empty() ? "generic" : choice.name, choice.folder);
}

int complain(const char* command, const Error& error) {
  std::fprintf(stderr, "laird %s: %s\n", command, error.text().c_str());
  return 1;
}

void add_power_commands(cli::Command& app, int& exit_code, Selftest selftest, GpuCheck gpu_check) {
  cli::Command* power = app.add_subcommand("power", "Read, watch and report power");
  power->require_subcommand();
  add_watch(*power, exit_code);
  add_parse(*power, exit_code);
  add_report(*power, exit_code);
  add_metrics(*power, exit_code);
  add_board(app, exit_code, std::move(selftest), std::move(gpu_check));
}

}  // namespace laird::power
