// How much of the power budget a board used, and since when: every change of the last half minute,
// as whoever watches the fleet is told.
#pragma once

#include <cstdint>
#include <deque>

#include "agent/core/state/state.hpp"
#include "base/time.hpp"
#include "consensus/limits.hpp"

namespace laird::agent {

class ShareHistory {
 public:
  struct Point {
    std::int64_t unix_us = 0;
    consensus::Parts parts = 0;
    std::int64_t enforced_mw = 0;
  };

  // At one moment, by the wall clock and in agent time. The state may be older: from its fence on
  // a board uses nothing but its floor, whether its agent noticed or not.
  void note(const core::State& state, TimeNs wall, TimeNs now);
  // Whether the share that was noted last has ended by itself since.
  [[nodiscard]] bool passed_fence(TimeNs now) const { return last_.parts != 0 && now > fence_; }
  // The agent stops: only its floor is reserved for it from now on.
  void give_up(const core::State& state, TimeNs wall, TimeNs now);
  // Whether there is something new since the points were last taken.
  [[nodiscard]] bool fresh() const { return fresh_; }
  [[nodiscard]] const std::deque<Point>& take(TimeNs wall);

 private:
  void add(const Point& point);
  void fall(TimeNs wall, const core::State& state);

  std::deque<Point> points_;
  Point last_;
  TimeNs fence_ = kNever;  // agent time: when the share in use ends unless peers are heard
  bool fresh_ = false;
};

}  // namespace laird::agent
