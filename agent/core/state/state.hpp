// Everything the core remembers. It is written whole into each journal file as a snapshot, hashed
// after each event, and nothing of it lives anywhere else.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/fleet.hpp"
#include "agent/core/state/recurring.hpp"
#include "agent/core/state/task.hpp"
#include "agent/policies/policy.hpp"
#include "base/archive.hpp"
#include "base/error.hpp"
#include "base/part.hpp"
#include "power/model/meter.hpp"

namespace laird::core {

struct Lane {
  LaneConfig config;
  std::vector<TaskKey> running;  // granted or pausing, in the order they were granted
  TaskKey last_task = 0;
  TimeNs slice_ends_at = 0;
  DurationNs slice = 0;
  LaneGate gate;
  void archive(Archive& ar);
};

struct Counters {
  std::uint64_t decisions = 0;
  std::uint64_t switches = 0;
  std::uint64_t crashes = 0;
  std::uint64_t evictions = 0;
  std::uint64_t breaches = 0;  // messages of a trainer that did not fit its state
  void archive(Archive& ar);
};

struct State {
  TimeNs now = 0;
  TimeNs booted_at = 0;
  DurationNs wall_minus_agent = 0;  // wall clock = agent time + this
  bool shutting_down = false;
  bool exit_sent = false;
  TimeNs wake_at = kNever;
  TaskKey next_key = 1;
  CoreConfig config;
  std::vector<Lane> lanes;
  std::vector<Task> live;         // ascending by key
  std::vector<Part<Task>> ended;  // in the order they ended, the oldest dropped first
  std::vector<TaskKey> wanted;    // chosen by a policy, waiting for memory to start
  std::unique_ptr<policies::Policy> policy;
  Counters counters;
  power::Meter meter;  // energy of the board and of each task
  power::Source meter_source = power::Source::kNone;
  PowerState power;                    // the cap and what holds it
  bool draining = false;               // takes no new tasks
  DurationNs agent_minus_machine = 0;  // agent time = the machine's clock + this
  Fleet fleet;
  Zone zone;                         // what local time is
  std::vector<Recurring> recurring;  // ascending by key

  State() = default;
  State(State&&) = default;
  State& operator=(State&&) = default;

  [[nodiscard]] Task* find_live(TaskKey key);
  [[nodiscard]] const Task* find_live(TaskKey key) const;
  [[nodiscard]] const Task* find_named(
      std::string_view task) const;  // live first, then ended; the newest
  [[nodiscard]] const Task* find_any(TaskKey key) const;
  [[nodiscard]] Recurring* find_recurring(std::string_view task);
  [[nodiscard]] const Recurring* find_recurring(std::string_view task) const;
  // Some task, put away or not, has or had this name, or its folder.
  [[nodiscard]] bool had_name(std::string_view task) const;
  [[nodiscard]] std::int64_t memory_used_bytes() const;
  // Nothing is left on it, tasks or shares: it can be switched off.
  [[nodiscard]] bool drained() const {
    return draining && live.empty() && (!fleet.member() || fleet.left_fleet);
  }

  void archive(Archive& ar);
  [[nodiscard]] std::uint64_t digest();

 private:
  // Scratch for decisions, kept to avoid allocation; not part of the state.
  friend class Stepper;
  std::vector<policies::Candidate> candidates_;
  policies::Decision decision_;
};

// Whether at `now`, which may be later than the state, the board may use its floor and no more.
[[nodiscard]] bool is_on_floor(const State& state, TimeNs now);
// What it enforces at `now`. A share ends with the fence, whether an event has said so or not.
[[nodiscard]] Amounts enforced_at(const State& state, TimeNs now);

[[nodiscard]] Bytes encode(State& state);
// `format`: of the journal it comes from (agent/journal/reader.hpp).
[[nodiscard]] Result<State> decode_state(std::string_view bytes,
                                         std::int64_t format = Archive::kNewestFormat);

}  // namespace laird::core
