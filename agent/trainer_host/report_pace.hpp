// Which of a trainer's reports become events, and when it is worth waking up to hear one.
//
// Time is cut into rounds that all trainers share. Of a trainer's reports one goes on in each
// round: the first at once, those that come after it in the same round wait for its end and are
// merged into the latest. A trainer that talks that fast need not be watched: what it says waits in
// the kernel and is read in one go when the round ends, and because trainers share the rounds,
// several of them make one wake-up of the agent and one commit of the journal.
//
// The end of a grant must not wait for a round, or the lane would. By the speed seen lately it is
// known about when it comes: the trainer is looked at when half of that time has passed, again and
// again, and watched when little is left. A speed that halves or doubles is caught up with; one
// that misleads costs a round at most. Pure: the caller brings the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace laird::agent {

inline constexpr DurationNs kReportRound = 50 * kMillisecond;

class ReportPace {
 public:
  // A grant begins.
  void granted(TimeNs now, std::uint64_t samples, std::uint64_t until) {
    until_ = until;
    mark(now, samples);
  }

  // A report was heard.
  void heard(TimeNs now, std::uint64_t samples) {
    if (now - seen_at_ < kSpeedOver) return;
    if (samples > seen_samples_) {
      speed_ = static_cast<double>(samples - seen_samples_) / static_cast<double>(now - seen_at_);
    }
    mark(now, samples);
  }

  // Whether a report may go on now, or waits for the end of the round.
  [[nodiscard]] bool is_due(TimeNs now) const { return now >= due_at_; }
  [[nodiscard]] TimeNs due_at() const { return due_at_; }
  void went_on(TimeNs now) { due_at_ = round_end(now); }

  struct Look {
    TimeNs at = 0;       // to look next
    bool watch = false;  // and not to wait for that: the end of the grant is near
  };
  // For a trainer whose latest report counts `samples`.
  [[nodiscard]] Look next_look(TimeNs now, std::uint64_t samples) const {
    Look look{round_end(now), false};
    if (samples >= until_ || !(speed_ > 0.0)) return look;
    const double left_ns = static_cast<double>(until_ - samples) / speed_;
    const double half_ns = std::min(left_ns / 2.0, static_cast<double>(kReportRound));
    const auto half = static_cast<DurationNs>(half_ns);
    if (half < kWatchBelow) {
      look.watch = true;
    } else {
      look.at = std::min(look.at, now + half);
    }
    return look;
  }

 private:
  // Speeds over less than this are more noise than speed.
  static constexpr DurationNs kSpeedOver = 5 * kMillisecond;
  static constexpr DurationNs kWatchBelow = 3 * kMillisecond;

  [[nodiscard]] static TimeNs round_end(TimeNs now) {
    return (now / kReportRound + 1) * kReportRound;
  }
  void mark(TimeNs now, std::uint64_t samples) {
    seen_at_ = now;
    seen_samples_ = samples;
  }

  TimeNs due_at_ = 0;
  std::uint64_t until_ = 0;
  TimeNs seen_at_ = 0;
  std::uint64_t seen_samples_ = 0;
  double speed_ = 0.0;  // samples per nanosecond
};

}  // namespace laird::agent
