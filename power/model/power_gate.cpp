#include "power/model/power_gate.hpp"

#include <algorithm>

#include "base/exact_math.hpp"
#include "power/model/governor.hpp"

namespace laird::power {

std::int32_t gate_ceiling(std::span<const LaneDemand> lanes, std::int64_t budget_mw) {
  lanes = lanes.first(std::min(lanes.size(), kGateLanesMax));
  const auto spent = [&](std::int64_t ceiling) {
    std::int64_t sum = 0;
    for (const LaneDemand& lane : lanes) {
      const std::int64_t time =
          std::min<std::int64_t>(std::clamp(lane.demand_permille, 0, kLevelFull), ceiling);
      sum += std::clamp<std::int64_t>(lane.weight_mw, 0, 10'000'000) * time;
    }
    return sum;  // uW, and growing with the ceiling
  };
  const std::int64_t budget = std::clamp<std::int64_t>(budget_mw, 0, 1'000'000'000) * kLevelFull;
  if (spent(kLevelFull) <= budget) return kLevelFull;
  std::int32_t fits = 0;
  std::int32_t exceeds = kLevelFull;
  while (exceeds - fits > 1) {
    const std::int32_t middle = (fits + exceeds) / 2;
    (spent(middle) <= budget ? fits : exceeds) = middle;
  }
  return fits;
}

std::int32_t ceiling_at_level(std::span<const LaneDemand> lanes, std::int64_t full_mw,
                              std::int32_t level_permille) {
  if (level_permille >= kLevelFull || full_mw <= 0) return level_permille;
  return gate_ceiling(lanes, full_mw * level_permille / kLevelFull);
}

SeenUse seen_after(double seen, double use, DurationNs passed, DurationNs lag) {
  const double ratio = static_cast<double>(passed) / static_cast<double>(lag);
  const double left = exact::exp(-ratio);
  const double sum =
      use * static_cast<double>(passed) + (seen - use) * static_cast<double>(lag) * (1.0 - left);
  return {std::clamp(use + (seen - use) * left, 0.0, 1.0), std::max(sum, 0.0)};
}

}  // namespace laird::power
