// The probability that a target is touched by a sample count, learned over many sources.
//
// Source: ours; gradient boosting of small trees on the log-odds (Friedman 2001). What a forecaster
// of one curve cannot see is how curves and targets usually go on: most runs fall further than they
// promise when their author planned a length, some never move again. The trees learn that from real
// curves:
//     ln p / (1 - p) = offset + ln min(1, d / 0.2) - max(0, g - 6) + sum over trees of a leaf
// with d the log-time until the sample count and g the gap in ln loss.
// p never falls with the sample count nor with an easier target: the trees are grown under these
// constraints, and so the probabilities over growing sample counts are a distribution of the need.
// Assumptions: a target is not far below what such a run can reach.
// The trees are found by `laird-lab forecast --tune CHECKOUT` (docs/forecasting.md) and judged on
// sources they have not seen. Deterministic: comparisons, additions and base/exact_math only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace laird::estimators {

enum class Reach : std::uint8_t {
  kStandardised,  // (ln target - forecast) / its spread, at the sample count
  kPartOfDrop,    // the drop that is missing over the drop that is forecast
  kGap,           // ln of the lowest loss over the target
  kLogGap,        // ln(0.01 + gap)
  kDistance,      // log-time until the sample count
  kPlanned,       // 1 when the author planned a length
  kBeyond,      // log-time from the sample count to the end: the planned one, else what is allowed
  kFall,        // ln of the first loss over the lowest
  kGapOfFall,   // gap / (0.05 + fall)
  kStraight,    // gap + slope * distance: what a power law leaves to go
  kSlope,       // d ln loss / d ln samples that the trend bank sees
  kBend,        // slope of the latest reports less that of all
  kNoise,       // ln(0.001 + noise)
  kGapOfNoise,  // gap / noise
  kStale,       // log-time since the lowest loss
  kImproving,   // part of the latest reports that were lower than the one before
  kLevel,       // ln loss
  kReports,     // ln of their number
  kUndamped,    // weight of the least damped filters
  kStalled,     // weight of the most damped filters
  kRise,        // ln of the loss now over the lowest
  kFeatureCount,
};
inline constexpr std::size_t kReachFeatures = static_cast<std::size_t>(Reach::kFeatureCount);
using ReachFeatures = std::array<double, kReachFeatures>;
[[nodiscard]] std::string_view name(Reach feature);

// +1: p grows with the feature, -1: falls, 0: either.
[[nodiscard]] constexpr int trend_of(Reach feature) {
  switch (feature) {
    case Reach::kStandardised:
    case Reach::kDistance: return 1;
    case Reach::kGap:
    case Reach::kLogGap:
    case Reach::kPartOfDrop:
    case Reach::kStraight:
    case Reach::kGapOfFall:
    case Reach::kGapOfNoise: return -1;
    default: return 0;
  }
}

// A full tree: split 0 at the top, those of split i at 2 i + 1 (feature <= threshold) and 2 i + 2.
inline constexpr std::size_t kReachSplits = 3;
inline constexpr std::size_t kReachLeaves = kReachSplits + 1;
struct ReachTree {
  std::array<Reach, kReachSplits> feature;
  std::array<double, kReachSplits> threshold;
  std::array<double, kReachLeaves> leaf;
};
inline constexpr std::size_t kReachTrees = 96;
struct ReachConstants {
  double offset;
  std::array<ReachTree, kReachTrees> trees;
};

// What is known of the log-odds before any tree: within a little log-time the probability is
// proportional to the time there is, which trees cannot say in steps, and it falls with targets
// farther off than any that was learned from.
[[nodiscard]] double plain_odds(const ReachFeatures& features);

// ln p / (1 - p)
[[nodiscard]] double log_odds(const ReachConstants& constants, const ReachFeatures& features);

}  // namespace laird::estimators
