// How many bytes may pass in a second: what is not used is kept, up to a burst.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace laird::agent {

class ByteAllowance {
 public:
  ByteAllowance(std::int64_t per_second, std::int64_t burst)
      : per_second_(per_second), burst_(burst), left_(burst) {}

  // How long to wait before so many bytes may pass; 0: now, and they are counted.
  [[nodiscard]] DurationNs wait_for(std::int64_t bytes, TimeNs now) {
    if (at_ == 0) at_ = now;
    const DurationNs passed = std::clamp<DurationNs>(now - at_, 0, kSecond);
    left_ = std::min(burst_, left_ + passed * per_second_ / kSecond);
    at_ = now;
    if (left_ < bytes) return (bytes - left_) * kSecond / per_second_ + kMillisecond;
    left_ -= bytes;
    return 0;
  }

 private:
  std::int64_t per_second_;
  std::int64_t burst_;
  std::int64_t left_;  // bytes that may pass now
  TimeNs at_ = 0;
};

}  // namespace laird::agent
