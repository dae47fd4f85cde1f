#include "agent/placement/need.hpp"

#include <algorithm>
#include <cmath>

namespace laird::placement {
namespace {

constexpr double kLow = 0.1;
constexpr double kMiddle = 0.5;
constexpr double kHigh = 0.9;
constexpr double kSecondsMax = 1e9;
constexpr std::int64_t kUnknownPart = 2;    // a half
constexpr std::int64_t kUnlikelyPart = 10;  // a tenth
// What is believed of an infeasible task at least: forecasts err.
constexpr double kSuccessMin = 0.001;

[[nodiscard]] NeedRange scaled(const NeedRange& range, double by) {
  return {range.low * by, range.median * by, range.high * by};
}

// The part of N that time allows: all of it when the run ends first.
[[nodiscard]] double in_time(const core::Task& task, const Need& need, double left_seconds) {
  const double more = need.speed * left_seconds;
  const auto planned = static_cast<double>(task.planned_samples);
  if (planned > 0.0 && more >= planned - static_cast<double>(task.samples)) return 1.0;
  return need.prospect.within_samples(more);
}

// "95 s", "2.3 h"; digits beyond the second say nothing about a forecast.
[[nodiscard]] std::string span_text(double seconds) {
  const auto with_unit = [](double value, const char* unit) {
    const auto tenths = std::llround(value * 10.0);
    std::string out = std::to_string(tenths / 10);
    if (tenths < 100 && tenths % 10 != 0) out += "." + std::to_string(tenths % 10);
    return out + " " + unit;
  };
  const double bounded = std::clamp(seconds, 0.0, kSecondsMax);
  if (bounded < 120.0) return with_unit(bounded, "s");
  if (bounded < 7200.0) return with_unit(bounded / 60.0, "min");
  if (bounded < 172'800.0) return with_unit(bounded / 3600.0, "h");
  return with_unit(bounded / 86'400.0, "d");
}

[[nodiscard]] std::string percent(double probability) {
  return std::to_string(std::llround(probability * 100.0)) + "%";
}

}  // namespace

std::string_view name(NeedBasis basis) {
  switch (basis) {
    case NeedBasis::kTooEarly: return "too-early";
    case NeedBasis::kForecast: return "forecast";
    case NeedBasis::kReached: return "reached";
  }
  return "unknown";
}

Need need_of(const core::Task& task, double speed, TimeNs now) {
  Need need;
  need.speed = speed > 0.0 ? speed : 0.0;
  need.left = task.deadline_at - now;
  if (task.outcome == core::Outcome::kSucceeded) {
    need.basis = NeedBasis::kReached;
    need.reach = 1.0;
    need.probability = 1.0;
    return need;
  }
  const double left_seconds = static_cast<double>(std::max<DurationNs>(need.left, 0)) / 1e9;
  if (!has_forecast(task, speed)) {
    if (need.left <= 0) need.probability = 0.0;
    need.seconds = scaled({kLow, kMiddle, kHigh}, left_seconds);
    need.samples = scaled(need.seconds, need.speed);
    return need;
  }
  need.basis = NeedBasis::kForecast;
  need.prospect = prospect_of(task, speed);
  need.reach = need.prospect.reach;
  need.probability = need.left > 0 ? need.reach * in_time(task, need, left_seconds) : 0.0;
  if (need.probability < kFeasibleMin) {
    const double end = static_cast<double>(task.samples) + need.speed * left_seconds;
    const auto planned = static_cast<double>(task.planned_samples);
    const auto band = task.forecast.loss_at(end, planned);
    need.ruled_out = !band || band->low > task.spec.target_loss;
  }
  need.samples = {need.prospect.need_quantile(kLow), need.prospect.need_quantile(kMiddle),
                  need.prospect.need_quantile(kHigh)};
  need.seconds = {need.seconds_at(kLow), need.seconds_at(kMiddle), need.seconds_at(kHigh)};
  return need;
}

Pace pace_of(const Need& need) {
  Pace pace;
  pace.left = std::max<DurationNs>(need.left, kSecond);
  if (need.basis == NeedBasis::kTooEarly) {
    pace.at_full_speed = pace.left / kUnknownPart;
    return pace;
  }
  const double seconds = std::min(need.seconds.median, kSecondsMax);
  pace.at_full_speed = std::max<DurationNs>(static_cast<DurationNs>(seconds * 1e9), kMillisecond);
  if (!need.feasible() || pace.at_full_speed > pace.left) {
    pace.at_full_speed = pace.left;
    pace.left *= kUnlikelyPart;
  }
  return pace;
}

Claim claim_of(const Need& need) {
  Claim claim;
  claim.left = std::max<DurationNs>(need.left, kSecond);
  const auto left = static_cast<double>(claim.left);
  if (need.basis == NeedBasis::kTooEarly) {
    claim.busy = static_cast<DurationNs>(kClaimMargin * left);
    claim.success = kClaimMargin * need.reach;
    return claim;
  }
  if (need.basis == NeedBasis::kReached) {
    claim.success = 1.0;
    return claim;
  }
  if (!need.feasible()) {
    claim.busy = claim.left / kUnlikelyPart;
    claim.success = std::max(need.probability, kSuccessMin);
    return claim;
  }
  const double seconds = std::min(need.seconds_at(kClaimMargin), kSecondsMax);
  const bool fits = seconds * 1e9 <= left;
  claim.busy = fits ? std::max<DurationNs>(static_cast<DurationNs>(seconds * 1e9), kMillisecond)
                    : claim.left;
  claim.success = std::max(fits ? kClaimMargin * need.reach : need.probability, kSuccessMin);
  return claim;
}

std::string describe(const Need& need) {
  switch (need.basis) {
    case NeedBasis::kTooEarly: return "it is too early to say what it needs";
    case NeedBasis::kReached: return "it has reached its target";
    case NeedBasis::kForecast: break;
  }
  return "it reaches its target by its deadline with " + percent(need.probability) +
         ", then after about " + span_text(need.seconds.median) + " of its lane, between " +
         span_text(need.seconds.low) + " and " + span_text(need.seconds.high);
}

}  // namespace laird::placement
