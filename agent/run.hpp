// `laird run`: one board, from its config to its exit.
#pragma once

#include <string>

namespace laird::agent {

struct RunOptions {
  std::string version;
  std::string config_path;
  std::string state_dir;      // overrides the config's
  std::string view = "auto";  // auto, table, lines, none
  bool until_done = false;
};

// The exit code: 0 done, 1 failed, 2 the config is wrong; or kRunAgain.
[[nodiscard]] int run_agent(const RunOptions& options);

// Not an exit code: the settings changed, and the program is to start anew.
inline constexpr int kRunAgain = -1;
// Puts a fresh copy of this program in its place; returns only when that failed.
[[nodiscard]] int run_again(char** argv);

// `laird check`: every problem of a config, task or board file at once; of a task also what its
// trainer finds, `no_data`: in its params alone. 0 fine, 2 problems.
[[nodiscard]] int check_file(const std::string& path, bool no_data);

}  // namespace laird::agent
