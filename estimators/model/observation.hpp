// What every estimator does with one report of a trainer before it touches its state.
//
// A report is (samples processed so far, loss averaged since the last report). Estimators work on
// ln loss, so a loss must be positive and finite; samples never go back. A refused report leaves
// the estimator exactly as it was, and the answer says why, so that the caller can record it.
#pragma once

#include <cstdint>
#include <string_view>

namespace laird::estimators {

enum class Observed : std::uint8_t {
  kFused,           // used as it came
  kClipped,         // used, after an outlier was pulled in to a plausible value
  kRefusedLoss,     // NaN, infinite, zero or negative: ln loss does not exist
  kRefusedSamples,  // NaN, infinite, negative, too large, or lower than an earlier report
};

[[nodiscard]] constexpr std::string_view name(Observed observed) {
  switch (observed) {
    case Observed::kFused: return "fused";
    case Observed::kClipped: return "clipped";
    case Observed::kRefusedLoss: return "refused: loss is not a positive finite number";
    case Observed::kRefusedSamples: return "refused: samples are not finite or went back";
  }
  return "unknown";
}

[[nodiscard]] constexpr bool accepted(Observed observed) {
  return observed == Observed::kFused || observed == Observed::kClipped;
}

// Beyond this many samples ln(s + B) and ln s can no longer be told apart in a double.
inline constexpr double kSamplesMax = 1e18;
// Losses outside are as unusable as infinite ones: their logarithms would swamp every other report.
inline constexpr double kLossMin = 1e-30;
inline constexpr double kLossMax = 1e30;

// Never kClipped: that needs a forecast. `samples_last` is negative before the first report.
[[nodiscard]] constexpr Observed check(double samples_last, double samples, double loss) {
  // Written so that a NaN fails every comparison and is refused.
  if (!(loss >= kLossMin && loss <= kLossMax)) return Observed::kRefusedLoss;
  if (!(samples >= 0.0 && samples <= kSamplesMax)) return Observed::kRefusedSamples;
  if (samples < samples_last) return Observed::kRefusedSamples;
  return Observed::kFused;
}

}  // namespace laird::estimators
