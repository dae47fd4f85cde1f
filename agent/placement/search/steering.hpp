// How a search is bounded and watched: by steps, never by a clock. Whoever has a clock stops it
// from `go_on`, so the same seed and steps give the same plan everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "agent/placement/planner/plan.hpp"

namespace laird::placement {

struct Progress {
  std::uint64_t steps = 0;
  Objective best;
  Seconds bound_s = 0;  // 0: not known yet
};

class Steering {
 public:
  // A step is about as much work as to try one move on sums, some 0.1 us on a desktop. `go_on`
  // hears of every better plan and about every 2,000 steps; false ends the search.
  Steering(std::uint64_t steps_max, std::function<bool(const Progress&)> go_on)
      : steps_max_(steps_max), go_on_(std::move(go_on)) {
    progress_.best = {INT64_MAX, kForever, INT64_MAX, INT64_MAX};  // nothing yet
  }

  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] std::uint64_t steps() const { return progress_.steps; }
  [[nodiscard]] const Objective& best() const { return progress_.best; }

  // False: stop now, with the best so far.
  bool spend(std::uint64_t steps) {
    progress_.steps += steps;
    if (progress_.steps >= next_) {
      next_ = progress_.steps + kBetweenCalls;
      if (progress_.steps >= steps_max_) stopped_ = true;
      tell();
    }
    return !stopped_;
  }
  void found(const Objective& best) {
    progress_.best = best;
    tell();
  }
  void bounded(Seconds bound_s) { progress_.bound_s = bound_s; }

 private:
  static constexpr std::uint64_t kBetweenCalls = 2'000;

  void tell() {
    if (go_on_ && !go_on_(progress_)) stopped_ = true;
  }

  std::uint64_t steps_max_ = 0;
  std::uint64_t next_ = 0;
  bool stopped_ = false;
  Progress progress_;
  std::function<bool(const Progress&)> go_on_;
};

}  // namespace laird::placement
