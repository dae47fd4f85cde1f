// Durations as numbers of seconds and as people say them.
#pragma once

#include <string>

#include "base/time.hpp"

namespace laird {

[[nodiscard]] constexpr double seconds(DurationNs d) { return static_cast<double>(d) / 1e9; }

// For screens and pages: "250 ms", "1.5 s", "1 min 30 s", "2 h", "3 d 4 h".
[[nodiscard]] std::string spoken(DurationNs d);
[[nodiscard]] std::string spoken_seconds(double s);

}  // namespace laird
