// Clocks as levels of a governor's rung, and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "power/model/governor.hpp"

namespace laird::power {

// Permille of the highest clock, ascending, each once; at most kRungLevelsMax, spread evenly when
// there are more clocks than that. Empty when no clock is above zero.
[[nodiscard]] inline std::vector<std::int32_t> levels_of_clocks(std::span<const std::int64_t> hz) {
  std::vector<std::int64_t> sorted(hz.begin(), hz.end());
  std::erase_if(sorted, [](std::int64_t v) { return v <= 0; });
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::int32_t> out;
  const std::size_t n = sorted.size();
  const std::size_t steps = std::min(n, kRungLevelsMax);
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t pick = steps == 1 ? n - 1 : i * (n - 1) / (steps - 1);
    const auto level = static_cast<std::int32_t>(sorted[pick] * kLevelFull / sorted.back());
    if (out.empty() || level > out.back()) out.push_back(level);
  }
  return out;
}

// The highest of the clocks that does not exceed the level; the lowest when all do.
[[nodiscard]] inline std::int64_t clock_of_level(std::span<const std::int64_t> hz,
                                                 std::int32_t level) {
  std::int64_t top = 0;
  for (const std::int64_t v : hz) top = std::max(top, v);
  std::int64_t best = 0;
  std::int64_t lowest = top;
  for (const std::int64_t v : hz) {
    if (v <= 0) continue;
    lowest = std::min(lowest, v);
    if (v * kLevelFull / std::max<std::int64_t>(1, top) <= level) best = std::max(best, v);
  }
  return best > 0 ? best : lowest;
}

}  // namespace laird::power
