// What became of each task and what it cost, gathered from the steps of a core: of a recorded life
// and of one that is run again alike, so that the two can be held against each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"

namespace laird::whatif {

// A task is the same in both lives when its name is, and how many of that name came before it.
struct TaskId {
  std::string name;
  std::uint32_t nth = 0;  // 0: the first of that name
  auto operator<=>(const TaskId&) const = default;
};

struct TaskEnd {
  TaskId id;
  core::Outcome outcome = core::Outcome::kNone;  // kNone: not over
  TimeNs accepted_at = 0;
  TimeNs deadline_at = 0;
  TimeNs ended_at = 0;  // 0: not over
  double target = 0.0;
  std::optional<double> loss;
  std::int64_t energy_uj = -1;  // -1: not metered
  DurationNs busy_ns = 0;
  std::uint32_t switches = 0;
  std::uint64_t samples = 0;
};

struct Tally {
  std::vector<TaskEnd> tasks;  // in the order of their acceptance
  double energy_j = 0.0;       // of the board
  bool metered = false;
  std::uint64_t switches = 0;
  std::uint64_t decisions = 0;

  [[nodiscard]] const TaskEnd* find(const TaskId& id) const;
  [[nodiscard]] std::uint64_t succeeded() const;
};

// Gives every task that a core accepts its id.
class Names {
 public:
  // Tasks that the core knows before its first event.
  void begin(const core::State& state);
  // After each step; calls `met` for each task that is new.
  template <class Met>
  void see(const core::State& state, Met&& met) {
    if (state.next_key == next_key_) return;
    for (const core::Task& task : state.live) {
      if (task.key < next_key_ || ids_.count(task.key) != 0) continue;
      met(name(task), task);
    }
    next_key_ = state.next_key;
  }
  [[nodiscard]] const TaskId* of(core::TaskKey key) const;

 private:
  const TaskId& name(const core::Task& task);

  std::map<core::TaskKey, TaskId> ids_;
  std::map<std::string, std::uint32_t> counts_;
  core::TaskKey next_key_ = 1;
};

class Tallier {
 public:
  void begin(const core::State& state);
  void see(const core::State& state, const Names& names);
  // `state` is the last one. Tasks that are not over are told as they are.
  [[nodiscard]] Tally finish(const core::State& state, const Names& names);

 private:
  void note(const core::Task& task, const Names& names);

  Tally tally_;
  core::TaskKey newest_ended_ = 0;
  double first_energy_j_ = 0.0;
  std::uint64_t first_switches_ = 0;
  std::uint64_t first_decisions_ = 0;
  std::uint64_t first_readings_ = 0;
};

}  // namespace laird::whatif
