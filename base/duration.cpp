#include "base/duration.hpp"

#include <algorithm>
#include <cstddef>

namespace laird {
namespace {

struct Unit {
  DurationNs length;
  const char* name;
};

std::string with_unit(std::int64_t count, const char* unit) {
  return std::to_string(count) + " " + unit;
}

// A tenth where it says something: "1.5 s", "2 s".
std::string with_tenth(std::int64_t tenths, const char* unit) {
  if (tenths % 10 == 0) return with_unit(tenths / 10, unit);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + unit;
}

std::int64_t rounded(DurationNs d, DurationNs unit) {
  return d / unit + (d % unit >= unit - unit / 2 ? 1 : 0);
}

}  // namespace

std::string spoken(DurationNs d) {
  if (d < 0) return d == INT64_MIN ? "-" + spoken(INT64_MAX) : "-" + spoken(-d);
  if (d == 0) return "0 s";
  if (d < kMillisecond) return with_tenth(rounded(d, kMicrosecond / 10), "us");
  if (rounded(d, kMillisecond) < 1000) return with_unit(rounded(d, kMillisecond), "ms");
  if (rounded(d, kSecond / 10) < 100) return with_tenth(rounded(d, kSecond / 10), "s");
  if (rounded(d, kSecond) < 60) return with_unit(rounded(d, kSecond), "s");
  static constexpr Unit kUnits[] = {{kSecond, "s"}, {kMinute, "min"}, {kHour, "h"}, {kDay, "d"}};
  // Two units that follow each other, rounded to the smaller.
  for (std::size_t i = 1; i < 4; ++i) {
    const Unit& small = kUnits[i - 1];
    const Unit& large = kUnits[i];
    const bool is_last = i == 3;
    const std::int64_t count = rounded(std::min(d, kNever - kDay), small.length);
    const std::int64_t per_large = large.length / small.length;
    if (!is_last && count >= kUnits[i + 1].length / small.length) continue;
    const std::string rest =
        count % per_large == 0 ? "" : " " + with_unit(count % per_large, small.name);
    return with_unit(count / per_large, large.name) + rest;
  }
  return {};
}

std::string spoken_seconds(double s) {
  // Some 290 years are all that nanoseconds can count.
  constexpr double kMost = 9e9;
  if (!(s < kMost)) return "for ever";
  return spoken(static_cast<DurationNs>(std::max(s, -kMost) * 1e9));
}

}  // namespace laird
