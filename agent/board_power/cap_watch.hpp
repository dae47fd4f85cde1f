// How long the board's mean power was above its cap, for the metrics. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.hpp"

namespace laird::agent {

class CapWatch {
 public:
  // The mean that the governor made its step with at `at`; the same one again counts once.
  void on_mean(TimeNs at, std::optional<std::int64_t> mean_mw, std::optional<std::int64_t> cap_mw) {
    if (at == last_at_) return;
    const DurationNs since = at - last_at_;
    const bool over = mean_mw && cap_mw && *mean_mw > *cap_mw;
    // A longer gap says nothing about the time in it.
    if (over && last_at_ != 0 && since > 0 && since <= kGapMax) over_ns_ += since;
    last_at_ = at;
  }
  [[nodiscard]] DurationNs over_ns() const { return over_ns_; }

 private:
  static constexpr DurationNs kGapMax = 10 * kSecond;
  TimeNs last_at_ = 0;
  DurationNs over_ns_ = 0;
};

}  // namespace laird::agent
