// The files a trainer sees, in a mount namespace of its own: the agent's are not there, the task's
// folder can be written, everything else is read-only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::cell {

struct View {
  std::string folder;  // empty: none
  dev_t device = 0;    // the folder must still be the one that was prepared
  ino_t inode = 0;
  std::vector<std::string> hidden;
  bool private_tmp = false;
  bool own_processes = false;  // /proc shows this PID namespace
  std::uint64_t shared_bytes = 0;
};

// Changes this process's mount namespace, which must be its own.
[[nodiscard]] Status make_view(const View& view);

// The same for podman, which makes a container's view itself: all is there, mounts that it makes
// end with this namespace, and /proc shows this PID namespace. The folder `run` is also at
// `run_root`.
[[nodiscard]] Status make_engine_view(const std::string& run, const std::string& run_root);

// The same path, or one in that folder.
[[nodiscard]] bool is_below(const std::string& path, const std::string& folder);
// The hidden paths that are there, links followed, without those below another: for tests too.
[[nodiscard]] std::vector<std::string> outermost(const std::vector<std::string>& paths);
// "/a\040b" of /proc/self/mountinfo as a path.
[[nodiscard]] std::string unescaped(const std::string& field);

}  // namespace laird::cell
