// Trainers as processes, as far as the agent deals with them: it starts one, sends signals to all
// of it, and hears how it ended. What holds them is behind this
// (agent/trainer_host/cell_processes).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/os/cgroup.hpp"
#include "base/error.hpp"
#include "cell/spec.hpp"
#include "os/fd.hpp"

namespace laird::agent {

struct ProcessSpec {
  std::string trainer;            // its name on the allow-list
  std::string task;               // names the folder
  std::int64_t memory_bytes = 0;  // limit without a control group
  bool fresh = false;             // what is in the folder is another's, and goes first
  bool check = false;             // it is to look at the params on its socket, and to train nothing
  std::uint64_t warm_from = 0;    // but stays, as the model of that run, to begin with; 0: no
};

struct Process {
  int id = -1;
  Fd socket;      // our end of the pair whose other end is LAIRD_FD in the trainer
  Fd output;      // its standard output and standard error together
  int news = -1;  // readable when there is something to be looked at; -1: SIGCHLD says so
};

// How a process ended.
struct Ending {
  int status = 0;   // as waitpid gives it
  std::string why;  // it could not be started, or was ended for this; empty: by itself
};

class Processes {
 public:
  virtual ~Processes() = default;
  // `group` may be null. That a program cannot be started may come out later, as its end.
  [[nodiscard]] virtual Result<Process> start(const ProcessSpec& spec, const Cgroup* group) = 0;
  // To the process and to all it has started.
  virtual void signal_all(int id, int signal) = 0;
  // Nothing of it is left, and it waits to be collected.
  [[nodiscard]] virtual bool has_ended(int id) = 0;
  // Waits for its end and forgets it.
  virtual Ending collect(int id) = 0;
  // Whether a trainer can be started to check a task.
  [[nodiscard]] virtual bool can_check() const { return false; }
  // Known to run outside of the group that it was started for.
  [[nodiscard]] virtual bool is_outside_group(int) { return false; }
  // What keeps trainers apart from the agent, once it is known.
  [[nodiscard]] virtual std::optional<cell::Guards> guards() const { return std::nullopt; }
};

}  // namespace laird::agent
