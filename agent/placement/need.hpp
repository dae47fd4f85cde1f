// What a task still needs, and how likely it is to reach its target in time: the one answer that
// the policies, the fleet's shares, bids, status and explanations are made from.
//
// Source: ours. The task's forecaster (estimators/model/forecaster.hpp) sees its curve; its
// prospect (prospect.hpp) turns that into the probability that the target is reached at all, and
// into the distribution of the samples this takes if it is. Symbols: s samples done; v speed,
// samples per second with the whole lane; d time to the deadline; N further samples until the
// target, given that it is reached; L planned samples.
//     reach       = P(the target is reached at all)
//     probability = reach * P(N <= v d), and reach once v d covers what is left of L
//     seconds     = N / v
// Rules:
//  - A task is judged at the full speed of its lane, whatever it is given now: one that is
//  throttled,
//    rests or is paused asks for no less because of it.
//  - Too early: before kNeedReports reports, or before the speed was measured, the need is taken to
//    be anywhere in the time left with equal probability, and reach and probability are a half.
//  - Reached: nothing is needed, the probability is 1. The core decides this with the report that
//    reaches the target, so it is an outcome and never a forecast.
//  - Infeasible: a task with a forecast whose probability is less than kFeasibleMin and whose
//  target
//    lies below the forecast's 90% band at the deadline. The band has a say because probabilities
//    are learned from noisy runs and doubt a clean one that will just make it. The quantiles of an
//    infeasible task
//    still say what it would take. After the deadline every task is infeasible.
// Deterministic: base/exact_math only, to the bit the same on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "agent/core/state/task.hpp"
#include "agent/placement/prospect.hpp"
#include "base/time.hpp"

namespace laird::placement {

// A forecast takes two reports: the slope of a curve needs them.
inline constexpr std::uint64_t kNeedReports = 2;
// Less likely than this is as good as no.
inline constexpr double kFeasibleMin = 0.05;

enum class NeedBasis : std::uint8_t { kTooEarly, kForecast, kReached };
[[nodiscard]] std::string_view name(NeedBasis basis);

// Quantiles of what is still needed, given that the target is reached.
struct NeedRange {
  double low = 0.0;  // 10%
  double median = 0.0;
  double high = 0.0;  // 90%
};

struct Need {
  NeedBasis basis = NeedBasis::kTooEarly;
  double speed = 0.0;        // as it was given; 0: not known
  DurationNs left = 0;       // to the deadline; negative when it has passed
  double reach = 0.5;        // probability that the target is reached at all
  double probability = 0.5;  // that it is reached by the deadline, with the whole lane until then
  NeedRange samples;         // all 0 while the speed is not known
  NeedRange seconds;         // of the whole lane
  bool ruled_out = false;    // the rule for infeasible holds
  Prospect prospect;         // of basis kForecast: the whole distribution

  // Seconds of the whole lane that suffice with probability u, given that the target is reached.
  // Only of basis kForecast.
  [[nodiscard]] double seconds_at(double u) const { return prospect.need_quantile(u) / speed; }
  [[nodiscard]] bool feasible() const { return left > 0 && !ruled_out; }
};

// Whether there is a forecast to judge the task by.
[[nodiscard]] inline bool has_forecast(const core::Task& task, double speed) {
  return task.forecast.reports() >= kNeedReports && speed > 0.0;
}

// `speed`: samples per second with the whole lane, usually task.rate.
[[nodiscard]] Need need_of(const core::Task& task, double speed, TimeNs now);

// The need as what it takes of a lane until the deadline. A task that nothing is known of counts
// with half its lane. One that is infeasible, or that would probably come too late at full speed,
// counts with a tenth, at the lowest urgency: enough to keep looking, as forecasts err.
struct Pace {
  DurationNs left = 0;           // to the deadline, at least a second; ten times that at a tenth
  DurationNs at_full_speed = 0;  // of the lane's time; at most `left`
  [[nodiscard]] double lane_share() const {
    return static_cast<double>(at_full_speed) / static_cast<double>(left);
  }
};
[[nodiscard]] Pace pace_of(const Need& need);

// The need as a claim on the fleet's shares: so much of the lane at full speed, by then, and how
// likely the task is to make it with that. The lane's time has a margin: with kClaimMargin of the
// probability that the target is reached at all, no more is needed. A task whose margin does not
// fit in the time left claims the whole lane, and makes it with its own probability. An infeasible
// one claims a tenth, as forecasts err.
inline constexpr double kClaimMargin = 0.8;
struct Claim {
  DurationNs left = 0;   // to the deadline, at least a second
  DurationNs busy = 0;   // of the lane's time; at most `left`
  double success = 0.0;  // probability
};
[[nodiscard]] Claim claim_of(const Need& need);

// In words, for people.
[[nodiscard]] std::string describe(const Need& need);

}  // namespace laird::placement
