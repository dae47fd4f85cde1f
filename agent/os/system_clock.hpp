// The machine's own clocks.
#pragma once

#include <ctime>

#include "agent/ports/ports.hpp"

namespace laird::agent {

class SystemClock final : public ports::Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override { return read(CLOCK_BOOTTIME); }
  [[nodiscard]] TimeNs wall_ns() override { return read(CLOCK_REALTIME); }

 private:
  [[nodiscard]] static TimeNs read(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<TimeNs>(now.tv_sec) * kSecond + now.tv_nsec;
  }
};

}  // namespace laird::agent
