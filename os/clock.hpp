// What time it is. Everything that waits or stamps asks a Clock, so that a test can own time.
#pragma once

#include "base/time.hpp"

namespace laird {

class Clock {
 public:
  virtual ~Clock() = default;
  // Counts on while the machine sleeps; never goes back.
  [[nodiscard]] virtual TimeNs boot_ns() = 0;
  // What people call the time; jumps when the clock is set.
  [[nodiscard]] virtual TimeNs wall_ns() = 0;
};

// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override;
  [[nodiscard]] TimeNs wall_ns() override;
};

}  // namespace laird
