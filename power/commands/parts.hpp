// What the commands share; private to this folder.
#pragma once

#include <string>

#include "base/error.hpp"
#include "power/boards/catalogue.hpp"
#include "power/commands/commands.hpp"

namespace laird::cli {
class Command;
}

namespace laird::power {

void add_parse(cli::Command& power, int& exit_code);
void add_report(cli::Command& power, int& exit_code);
void add_watch(cli::Command& power, int& exit_code);
void add_metrics(cli::Command& power, int& exit_code);
void add_board(cli::Command& app, int& exit_code, Selftest selftest, GpuCheck gpu_check);

struct BoardChoice {
  std::string name;    // empty: detect
  std::string folder;  // of board files that take precedence
  std::string root;    // prefix of /sys, /proc and /etc

  void add_options(cli::Command& command);
};

// The board asked for, or the one detected.
[[nodiscard]] Result<Board> choose_board(const BoardChoice& choice);
// The board asked for, or `generic`: a capture comes from anywhere.
[[nodiscard]] Result<Board> board_for_file(const BoardChoice& choice);

// Prints "laird COMMAND: TEXT" to standard error; returns 1.
int complain(const char* command, const Error& error);

}  // namespace laird::power
