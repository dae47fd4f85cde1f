// How near two lives of one board are: a recorded one, and the same run again.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/whatif/tally.hpp"

namespace laird::whatif {

// What a rerun with nothing changed has to keep to.
inline constexpr double kEndWithin = 0.02;     // of a task's time from its acceptance to its end
inline constexpr double kEnergyWithin = 0.03;  // of the board's energy
// An end that moves by less has not moved: timers of a real board are as coarse.
inline constexpr DurationNs kGrain = 10 * kMillisecond;

struct TaskPair {
  const TaskEnd* was = nullptr;  // nullptr: it was not there
  const TaskEnd* now = nullptr;  // nullptr: it is not there
  [[nodiscard]] bool same_end() const;
  // By how much of the task's whole time its end moved; 0 for one that is over in neither life.
  [[nodiscard]] double end_moved() const;
};
// In the order of their acceptance. The tallies outlive the pairs.
[[nodiscard]] std::vector<TaskPair> pairs_of(const Tally& was, const Tally& now);

struct Fidelity {
  std::uint64_t tasks = 0;
  std::uint64_t same_end = 0;
  double end_moved_most = 0.0;  // of those with the same end
  bool metered = false;
  double energy_off = 0.0;  // of the board; signed

  [[nodiscard]] bool good() const;
};
[[nodiscard]] Fidelity fidelity_of(const Tally& was, const Tally& now);

}  // namespace laird::whatif
