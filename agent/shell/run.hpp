// `laird run`: one board, from its config to its exit.
#pragma once

#include <string>

namespace laird::shell {

struct RunOptions {
  std::string version;
  std::string config_path;
  std::string state_dir;      // overrides the config's
  std::string view = "auto";  // auto, table, lines, none
  bool until_done = false;
};

// The exit code: 0 done, 1 failed, 2 the config is wrong.
[[nodiscard]] int run_agent(const RunOptions& options);

// `laird check`: every problem of a config, task or board file at once. 0 fine, 2 problems.
[[nodiscard]] int check_file(const std::string& path);

}  // namespace laird::shell
