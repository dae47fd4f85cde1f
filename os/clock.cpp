#include "os/clock.hpp"

#include <ctime>

namespace laird {
namespace {

TimeNs read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<TimeNs>(now.tv_sec) * kSecond + now.tv_nsec;
}

}  // namespace

TimeNs SystemClock::boot_ns() { return read(CLOCK_BOOTTIME); }
TimeNs SystemClock::wall_ns() { return read(CLOCK_REALTIME); }

}  // namespace laird
