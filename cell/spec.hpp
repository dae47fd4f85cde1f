// What a trainer's cell is: what it may use, what is kept from it, and which guards hold in it.
//
// A cell is the place in which one trainer lives apart from the agent. Not every system can give
// every guard; each is tried, and those that hold are told to the agent (docs/cell.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"

namespace laird::cell {

enum class Guard : std::uint8_t {
  kUser,          // another user than the agent
  kProcesses,     // sees and signals no process outside (a PID namespace)
  kFiles,         // the agent's files are not there, all others are read-only (a mount namespace)
  kNetwork,       // no network but its own loopback (a network namespace)
  kNoSockets,     // cannot make a socket (seccomp), where there is no namespace
  kPaths,         // opens only the files it may (Landlock)
  kSignals,       // signals nobody outside (Landlock, Linux 6.12)
  kSystemCalls,   // cannot mount, trace, make namespaces, load modules ... (seccomp)
  kProcessLimit,  // a bounded number of processes
};
inline constexpr int kGuards = 9;

[[nodiscard]] std::string_view name(Guard guard);

class Guards {
 public:
  Guards() = default;
  explicit Guards(std::uint32_t bits) : bits_(bits & ((1U << kGuards) - 1)) {}
  void add(Guard guard) { bits_ |= 1U << static_cast<unsigned>(guard); }
  [[nodiscard]] bool has(Guard guard) const {
    return (bits_ & (1U << static_cast<unsigned>(guard))) != 0;
  }
  [[nodiscard]] std::uint32_t bits() const { return bits_; }

 private:
  std::uint32_t bits_ = 0;
};

[[nodiscard]] std::string describe(Guards guards);  // "user, processes, files"

// What a trainer may try against its agent, its neighbours and its board.
enum class Attempt : std::uint8_t {
  kReadKey,
  kReadJournal,
  kWriteSettings,
  kWriteOtherTask,
  kTraceAgent,
  kReadMemory,
  kUseControlSocket,
  kSetCap,
  kLeaveGroup,
  kOutliveCancel,
  kOutliveAgent,
  kKillAgent,
  kForkWithoutEnd,
  kFillDisk,
};
inline constexpr int kAttempts = 14;

[[nodiscard]] std::string_view name(Attempt attempt);  // "read the board's key"
// Whether these guards refuse it. The agent's own measures, which hold everywhere, count too: it
// cannot be traced, and it watches the size of every task's folder.
[[nodiscard]] bool is_refused(Attempt attempt, Guards guards);

// The descriptor under which a trainer finds its agent, and what LAIRD_FD says.
inline constexpr int kTrainerSocket = 3;

struct Limits {
  std::uint64_t processes = 0;     // threads count
  std::uint64_t open_files = 0;    // of each process
  std::uint64_t folder_bytes = 0;  // the task's folder, and any one file
  std::uint64_t shared_bytes = 0;  // /tmp and /dev/shm, each, where the cell has its own
  std::uint64_t memory_bytes = 0;  // data of each process, where no control group limits it; 0: any
  void archive(Archive& ar) { ar(processes, open_files, folder_bytes, shared_bytes, memory_bytes); }
};

// A trainer that is an image (cell/container.hpp). What runs then is podman, in a cell for it.
struct Container {
  std::string image;                    // empty: the trainer is a program
  std::vector<std::string> engine;      // podman, with options of its own
  std::vector<std::string> command;     // in the image; empty: what the image says
  std::vector<std::string> data_roots;  // shown to it, read-only
  void archive(Archive& ar);
};

struct Spec {
  std::vector<std::string> argv;  // an absolute path first; empty: try the guards and start nothing
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string tasks_folder;              // absolute
  std::string task;                      // its folder there
  std::string user;                      // used where this process may change its user
  std::vector<std::string> hidden;       // files and folders, absolute
  bool network = false;
  bool socket_is_input = false;  // standard input too is the agent's socket
  bool namespaces = true;        // use them where the system allows
  bool private_tmp = false;      // /tmp and /var/tmp of its own; else they are read-only
  Limits limits;
  Container container;
  std::string containers_folder;  // absolute; what containers of this agent keep is in there

  [[nodiscard]] bool is_container() const { return !container.image.empty(); }
  [[nodiscard]] std::string folder() const { return tasks_folder + "/" + task; }
  void archive(Archive& ar);
};

// Refuses what no agent of ours asks for.
[[nodiscard]] Status check(const Spec& spec);

}  // namespace laird::cell
