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

// What trainers need of the system's processes; a test gives processes of its own making.
class Processes {
 public:
  virtual ~Processes() = default;
  [[nodiscard]] virtual Result<Process> start(const ProcessSpec& spec, Cgroup* group) = 0;
  // To the process and to all it has started that stayed in its group. Only while it is not
  // collected: until then its number, which is also its group's, cannot belong to anybody else.
  virtual void signal_group(int pid, int signal) = 0;
  // It has ended and waits to be collected.
  [[nodiscard]] virtual bool has_ended(int pid) = 0;
  // Waits for its end and lets go of its number; the status as waitpid gives it.
  virtual int collect(int pid) = 0;
};

class SystemProcesses final : public Processes {
 public:
  [[nodiscard]] Result<Process> start(const ProcessSpec& spec, Cgroup* group) override {
    return start_process(spec, group);
  }
  void signal_group(int pid, int signal) override;
  [[nodiscard]] bool has_ended(int pid) override;
  int collect(int pid) override;
};

}  // namespace laird::agent
