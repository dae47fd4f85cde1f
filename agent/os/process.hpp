// Starting another program safely: no shell, no inherited files, its own session and group, and it
// dies with the agent.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/os/cgroup.hpp"
#include "agent/os/loop.hpp"
#include "base/error.hpp"

namespace laird::agent {

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::vector<std::pair<std::string, std::string>> env;
  std::string folder;             // where it runs
  std::int64_t memory_bytes = 0;  // limit without a cgroup: address space is not it, data is
};

struct Process {
  int pid = -1;
  Fd socket;  // our end of the pair whose other end is LAIRD_FD in the child
  Fd output;  // its standard output and standard error together
  bool in_group = false;
};

// `group` may be null. On failure nothing is left behind.
[[nodiscard]] Result<Process> start_process(const ProcessSpec& spec, Cgroup* group);

}  // namespace laird::agent
