// Time is integer nanoseconds everywhere. An instant counts from an origin its owner states; in
// the core that origin is the Unix epoch as the agent first believed it, and it never goes back.
#pragma once

#include <cstdint>

namespace laird {

using TimeNs = std::int64_t;
using DurationNs = std::int64_t;

inline constexpr DurationNs kMicrosecond = 1'000;
inline constexpr DurationNs kMillisecond = 1'000'000;
inline constexpr DurationNs kSecond = 1'000'000'000;
inline constexpr DurationNs kMinute = 60 * kSecond;
inline constexpr DurationNs kHour = 60 * kMinute;
inline constexpr DurationNs kDay = 24 * kHour;
inline constexpr TimeNs kNever = INT64_MAX;

}  // namespace laird
