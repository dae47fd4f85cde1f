// Control groups, whichever version the board has: quota, memory limit, freezer, number of
// processes.
//
// JetPack 4 and 5 have version 1, later ones version 2, containers and laptops anything; so what is
// there and writable is found at start, each control on its own, and everything works without it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::agent {

// What a group knows of its memory; 0 where the kernel does not say.
struct MemoryUse {
  std::int64_t peak_bytes = 0;
  std::uint64_t killed = 0;  // processes that the kernel ended because the limit was reached
};

// The group of one trainer. Every call is best effort and says whether it took effect.
class Cgroup {
 public:
  virtual ~Cgroup() = default;
  // Its folder in each hierarchy: who writes to cgroup.procs there puts a process into the group.
  [[nodiscard]] virtual std::vector<std::string> folders() const = 0;
  // Thousandths of a core; 0 lifts the limit.
  [[nodiscard]] virtual bool limit_cpu(std::uint32_t cpu_milli) = 0;
  [[nodiscard]] virtual bool limit_memory(std::int64_t bytes) = 0;
  [[nodiscard]] virtual MemoryUse memory_use() const = 0;
  // Threads count.
  [[nodiscard]] virtual bool limit_processes(std::uint64_t most) = 0;
  [[nodiscard]] virtual bool freeze(bool frozen) = 0;
  // Kills whatever is left in the group; for what escaped its process group.
  virtual void kill_all() = 0;
};

class CgroupTree {
 public:
  // `root` is /sys/fs/cgroup and `self` the text of /proc/self/cgroup, or a test's own.
  [[nodiscard]] static std::unique_ptr<CgroupTree> find(const std::string& root,
                                                        const std::string& self,
                                                        const std::string& node);
  virtual ~CgroupTree() = default;
  // nullptr when no group can be made. The group is removed with the object.
  [[nodiscard]] virtual std::unique_ptr<Cgroup> create(const std::string& task) = 0;
  // "cgroup v1: cpu memory freezer", for the log.
  [[nodiscard]] virtual std::string describe() const = 0;
  // Whether a group's CPU time can be limited.
  [[nodiscard]] virtual bool limits_cpu() const = 0;
  // Whether a group's number of processes can be limited.
  [[nodiscard]] virtual bool limits_processes() const = 0;
  // Ends what an earlier agent of this node left behind.
  virtual void clear_leftovers() = 0;
};

}  // namespace laird::agent
