// What time it is. Everything that waits or stamps asks a Clock, so that a test can own time.
#pragma once

#include "base/time.hpp"

namespace laird {

// Local time against the wall clock: by so much, and by `offset_after` from `change_wall` on.
struct LocalTime {
  DurationNs offset = 0;
  TimeNs change_wall = kNever;
  DurationNs offset_after = 0;
};

class Clock {
 public:
  virtual ~Clock() = default;
  // Counts on while the machine sleeps; never goes back.
  [[nodiscard]] virtual TimeNs boot_ns() = 0;
  // What people call the time; jumps when the clock is set.
  [[nodiscard]] virtual TimeNs wall_ns() = 0;
  // At that time by the wall clock, with the next change within eight days.
  [[nodiscard]] virtual LocalTime local_time(TimeNs) { return {}; }
};

// The machine's own clocks.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override;
  [[nodiscard]] TimeNs wall_ns() override;
  // By the machine's time zone, as it is set now.
  [[nodiscard]] LocalTime local_time(TimeNs wall) override;
};

}  // namespace laird
