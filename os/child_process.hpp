// Starting another program: no shell, no file of ours but the ones it is given, signals as a fresh
// process has them, and a failure of exec comes back as an error of the start.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird {

struct ChildSpec {
  // For a standard descriptor in place of one of ours.
  static constexpr int kNull = -1;     // /dev/null
  static constexpr int kInherit = -2;  // the one this process has

  std::vector<std::string> argv;  // argv[0] is a path, or a name to be looked up in PATH
  // "NAME=VALUE" each; nullopt: what this process has.
  std::optional<std::vector<std::string>> environment;
  std::string folder;  // where it runs; empty: where this process does
  int input = kNull;
  int output = kNull;
  int error = kNull;
  bool own_session = false;       // a session and process group of its own, away from a terminal
  bool dies_with_parent = false;  // killed when the thread that starts it ends
};

// Its pid; the caller waits for it. On failure nothing is left behind.
[[nodiscard]] Result<pid_t> start_child(const ChildSpec& spec);

// The program of laird's beside this one, or in /usr/libexec/laird; empty when it is in neither.
[[nodiscard]] std::string program_beside(const std::string& name);

}  // namespace laird
