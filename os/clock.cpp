#include "os/clock.hpp"

#include <ctime>

namespace laird {
namespace {

TimeNs read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<TimeNs>(now.tv_sec) * kSecond + now.tv_nsec;
}

DurationNs offset_at(TimeNs wall) {
  const auto at = static_cast<time_t>(wall / kSecond);
  tm local{};
  return localtime_r(&at, &local) == nullptr ? 0 : local.tm_gmtoff * kSecond;
}

}  // namespace

LocalTime SystemClock::local_time(TimeNs wall) {
  constexpr int kDaysAhead = 8;
  tzset();  // the zone may have been set anew
  LocalTime out;
  out.offset = offset_at(wall);
  out.offset_after = out.offset;
  // Changes are months apart: a day that begins and ends with one offset has no change in it.
  TimeNs before = wall;
  for (int day = 1; day <= kDaysAhead; ++day) {
    TimeNs after = wall + day * kDay;
    const DurationNs offset = offset_at(after);
    if (offset == out.offset) {
      before = after;
      continue;
    }
    while (after - before > kSecond) {
      const TimeNs middle = before + (after - before) / 2;
      (offset_at(middle) == out.offset ? before : after) = middle;
    }
    out.change_wall = after / kSecond * kSecond;
    out.offset_after = offset;
    break;
  }
  return out;
}

TimeNs SystemClock::boot_ns() { return read(CLOCK_BOOTTIME); }
TimeNs SystemClock::wall_ns() { return read(CLOCK_REALTIME); }

}  // namespace laird
