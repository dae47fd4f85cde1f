// Who got a slice of a lane with the last event, and why.
#pragma once

#include <cstdint>
#include <string>

#include "agent/core/state/state.hpp"
#include "agent/core/step/step.hpp"

namespace laird::story {

class GrantWatch {
 public:
  explicit GrantWatch(std::uint64_t decisions = 0) : decisions_(decisions) {}

  // Calls `each(lane, task)` for every slice that the decisions of the last event gave out. Returns
  // how many decisions that were.
  template <class Each>
  std::uint64_t see(const core::State& state, const Each& each) {
    const std::uint64_t made = state.counters.decisions - decisions_;
    decisions_ = state.counters.decisions;
    if (made == 0) return 0;
    for (std::size_t i = 0; i < state.lanes.size(); ++i) {
      for (const core::TaskKey key : state.lanes[i].running) {
        const core::Task* task = state.find_live(key);
        if (task != nullptr && task->grant_at == state.now) each(i, *task);
      }
    }
    return made;
  }

 private:
  std::uint64_t decisions_;
};

[[nodiscard]] inline double share_of(const core::Task& task) {
  return static_cast<double>(task.share_ppm) / static_cast<double>(core::kShareWholePpm);
}
[[nodiscard]] inline std::string why_of(const core::State& state, const core::Task& task) {
  const Result<std::string> why = core::explain(state, task.spec.name);
  return why ? *why : std::string();
}

}  // namespace laird::story
