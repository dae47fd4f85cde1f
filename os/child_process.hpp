// Starting another program: no shell, no file of ours but the ones it is given, signals as a fresh
// process has them, and a failure of exec comes back as an error of the start.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird {

struct ChildLimit {
  int resource = 0;        // RLIMIT_...
  std::uint64_t most = 0;  // soft and hard
};

struct ChildSpec {
  // For a standard descriptor in place of one of ours.
  static constexpr int kNull = -1;     // /dev/null
  static constexpr int kInherit = -2;  // the one this process has
  // The descriptor under which the program finds `extra`.
  static constexpr int kExtraFd = 3;

  std::vector<std::string> argv;  // argv[0] is a path, or a name to be looked up in PATH
  // "NAME=VALUE" each; nullopt: what this process has.
  std::optional<std::vector<std::string>> environment;
  std::string folder;  // where it runs; empty: where this process does
  int input = kNull;
  int output = kNull;
  int error = kNull;
  int extra = kNull;              // none
  bool own_session = false;       // a session and process group of its own, away from a terminal
  bool dies_with_parent = false;  // killed when the thread that starts it ends
  bool no_new_privileges = false;
  std::vector<ChildLimit> limits;
};

// Its pid; the caller waits for it. `admit` is called in this process while the child waits, before
// it has run anything of the program: the moment to put it into a group. On failure nothing is left
// behind.
[[nodiscard]] Result<pid_t> start_child(const ChildSpec& spec,
                                        const std::function<void(pid_t)>& admit = {});

}  // namespace laird
