// The first process of a cell. It makes the cell around itself, starts the trainer in it, carries
// out the agent's orders there, watches what the trainer writes, and leaves nobody behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "cell/guards/privileges.hpp"
#include "cell/spec.hpp"

namespace laird::cell {

struct Surrounding {
  Spec spec;
  std::optional<Person> person;  // nullopt: as this process
  // The namespaces that this process was born into.
  bool own_processes = false;
  bool own_files = false;
  bool own_network = false;
  bool own_users = false;
  // The task's folder, as it was prepared.
  dev_t device = 0;
  ino_t inode = 0;
  // Descriptors of this process.
  int socket = -1;  // LAIRD_FD of the trainer
  int output = -1;
  int listener = -1;        // where the trainer in a container connects; -1: it has `socket` itself
  std::vector<int> groups;  // cgroup.procs of each of its control groups
  int warden = -1;          // orders come, reports go
};

// What the trainer's process tells before it becomes the program, or when it cannot.
struct Entered {
  std::uint32_t guards = 0;
  bool in_group = false;
  std::string problem;  // it cannot
  void archive(Archive& ar) {
    ar(guards, in_group);
    ar.text(problem, 1024);
  }
};
// What the first process tells last.
struct Left {
  std::int32_t status = 0;
  std::string why;  // it ended the trainer
  void archive(Archive& ar) {
    ar(status);
    ar.text(why, 1024);
  }
};

// Between the cell and its warden: one letter, then the message, if it has one.
inline constexpr char kEntered = 'e';
inline constexpr char kRuns = 'r';    // the trainer's process is the program now, or it has ended
inline constexpr char kNoView = 'v';  // the files cannot be shown as they should; it has ended
inline constexpr char kLeft = 'l';

[[noreturn]] void live_inside(const Surrounding& here);

}  // namespace laird::cell
