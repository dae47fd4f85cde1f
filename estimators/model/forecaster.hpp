// Our forecaster of learning curves: two banks of unlike hypotheses, and one learned probability.
//
// Source: ours. Time is u = ln(s + B), s samples and B the first reporting interval. The forecast
// of ln loss is the mean of two banks: discounted regressions that may bend (bend_bank.hpp) and
// damped trend filters that may stall or turn (trend_bank.hpp); they err differently, and no choice
// between them did better on sources unseen. A low loss is one that a squared error can have, which
// has no floor: below e^-1.5 the forecast change is stretched, by at most 1.6. An earlier run of
// the same task, when there is one, is weighed against them by how near this run keeps to it
// (trace.hpp). The 90% band and the probability of touching a target are learned over many sources;
// one answer serves policies, shares and screens: the probability by a sample count is
// reach_model.hpp's, and the need's distribution is the same one read the other way round.
//
// Assumptions: reports come at roughly regular intervals; the curve is a curve (no restart from
// scratch in the middle: a restart shows as clipped reports and then a new level).
// Deviation from the paper (LaiRA): no velocity and acceleration of the parameters; damping is a
// hypothesis per task instead of a constant, because real curves differ in nothing more.
//
// Deterministic to the bit on every machine (base/exact_math only). About 4 KB, no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/archive.hpp"
#include "estimators/model/bend_bank.hpp"
#include "estimators/model/observation.hpp"
#include "estimators/model/reach_model.hpp"
#include "estimators/model/trace.hpp"
#include "estimators/model/trend_bank.hpp"

namespace laird::estimators {

// One side of the 90% band, as a distance from the forecast of ln loss at log-distance d:
// sqrt(level^2 + noise R + distance^2 d^2 + trend V_t + bend V_b), with R the variance of the
// reports and V the variance of each bank.
struct BandConstants {
  double level;
  double noise;
  double distance;
  double trend;
  double bend;
};
// Where the forecast stands at a log-distance, and what makes it unsure.
struct Spread {
  double location = 0.0;  // forecast of ln loss
  double noise = 0.0;     // variance of the reports
  double distance = 0.0;
  double trend = 0.0;  // variances of the banks
  double bend = 0.0;
};
[[nodiscard]] double width(const BandConstants& constants, const Spread& spread);
// Found by `laird-lab forecast --tune` (docs/forecasting.md); shipped in forecast_constants.cpp.
struct ForecastConstants {
  BandConstants low;
  BandConstants high;
  ReachConstants reach;
};
[[nodiscard]] const ForecastConstants& shipped_constants();

struct LossForecast {
  double loss;  // the point forecast
  double low;   // 90% band of the loss reported at that sample count
  double high;
};

// Further samples until the loss is first at or below a target; kNever where it may never be.
struct NeedForecast {
  double samples;  // the point forecast: where the point forecast of the loss meets the target
  double low;      // 5% and 95% quantiles of the distribution
  double high;
  double probability;  // that the target is reached at all within the horizon
};
inline constexpr double kNever = 1e300;

// Horizon when no planned length is given: this many times the samples seen.
inline constexpr double kHorizonFactor = 1000.0;

class Forecaster {
 public:
  Forecaster() : Forecaster(shipped_constants()) {}
  // `constants` must outlive the forecaster; they are not part of its archived state.
  explicit Forecaster(const ForecastConstants& constants) : constants_(&constants) {}

  // Never spreads bad input: a refused report changes nothing. A report at the same sample count as
  // the last one is averaged in.
  Observed observe(double samples, double loss);

  // What an earlier run of the same task left is forecast from, as far as this run follows it:
  // before the first report there is nothing else. It is judged by the reports that come after.
  void recall(const Trace& earlier);
  [[nodiscard]] bool recalls() const { return !recall_.empty(); }
  // This run's curve, thinned: for the next run of the task.
  [[nodiscard]] const Trace& trace() const { return trace_; }

  [[nodiscard]] std::uint64_t reports() const { return reports_; }
  [[nodiscard]] double samples() const { return samples_; }
  // The lowest loss reported; only meaningful once reports() > 0.
  [[nodiscard]] double loss_best() const { return loss_best_; }
  // The last accepted loss, as it came.
  [[nodiscard]] double loss_last() const { return loss_last_; }
  // ln of the loss at the first sample count; only meaningful once reports() > 0.
  [[nodiscard]] double log_loss_first() const { return r_first_; }

  // `planned_samples` 0 means unknown; known, the curve is taken to end there. Nothing before the
  // first report. A sample count in the past gives the present.
  [[nodiscard]] std::optional<LossForecast> loss_at(double samples,
                                                    double planned_samples = 0.0) const;

  // The probability that a loss at or below the target is reported by the time
  // `samples_at_deadline` have been processed. 1 once it was; 0.5, the prior, before the first
  // report.
  [[nodiscard]] double probability_below(double target_loss, double samples_at_deadline,
                                         double planned_samples = 0.0) const;

  // The same at several sample counts, ascending; never falling. `samples_allowed`: where the task
  // could be at its deadline, which says a little about its length when nobody planned one.
  void probabilities_below(double target_loss, double planned_samples, double samples_allowed,
                           std::span<const double> samples, std::span<double> out) const;

  [[nodiscard]] NeedForecast samples_to_reach(double target_loss,
                                              double planned_samples = 0.0) const;

  // Fills `out` with the quantiles (i + 1/2) / size of the further samples needed to reach the
  // target, ascending, kNever for the share that never does: equally likely needs to plan with.
  void need_quantiles(double target_loss, double planned_samples, std::span<double> out) const;

  // Slope d ln loss / d ln s the banks see now, and the standard deviation of the residuals:
  // features for policies. Zero before the second distinct sample count.
  [[nodiscard]] double slope() const;
  [[nodiscard]] double noise() const;

  // For the lab, which fits the constants: what the band and the probability are learned from.
  using Spread = estimators::Spread;
  [[nodiscard]] Spread spread_at(double samples) const;
  // The part of a forecast at that sample count that the earlier run has: 0 without one, 1 before
  // the first report.
  [[nodiscard]] double recalled_part(double samples) const;
  [[nodiscard]] ReachFeatures reach_features(double target_loss, double samples,
                                             double planned_samples, double samples_allowed) const;

  void archive(Archive& ar);

 private:
  struct Sight;  // the banks' posteriors, taken once and asked often

  [[nodiscard]] bool all_finite() const;
  [[nodiscard]] double interval() const;
  [[nodiscard]] double log_time(double samples) const;
  [[nodiscard]] double horizon_samples(double planned_samples) const;
  [[nodiscard]] double distance_to(double samples) const;
  [[nodiscard]] Sight sight() const;
  [[nodiscard]] Spread spread(const Sight& sight, double distance) const;
  // The run ends at `end`; whether its author planned that.
  struct End {
    double samples = 0.0;
    bool is_planned = false;
  };
  [[nodiscard]] static End end_of(double planned_samples, double samples_allowed);
  [[nodiscard]] double probability(const Sight& sight, double r_target, double samples,
                                   const End& end) const;
  [[nodiscard]] ReachFeatures features(const Sight& sight, double r_target, double samples,
                                       const End& end) const;
  // Where the loss is expected and the standard deviations below and above.
  struct Band {
    double location = 0.0;
    double low = 0.0;
    double high = 0.0;
    double recalled = 0.0;  // the part that the earlier run has
  };
  [[nodiscard]] Band band(const Sight& sight, double samples) const;
  [[nodiscard]] double recalled_weight(const Spread& own, const Recall::View& view) const;
  void track(double r);
  void begin_trends();
  double clip(double r, double step, Observed& observed);

  const ForecastConstants* constants_;
  std::uint64_t reports_ = 0;
  double samples_ = -1.0;
  double samples_first_ = 0.0;
  double interval_ = 0.0;  // B; 0 until a second distinct sample count is seen
  double log_time_ = 0.0;
  double r_first_ = 0.0;  // running mean of ln loss at the first sample count
  double loss_best_ = 0.0;
  double loss_last_ = 0.0;
  double surprise_ = 0.0;  // running mean square of one-step errors, for clipping
  std::int32_t clipped_in_row_ = 0;
  double samples_best_ = 0.0;  // where the lowest loss was
  double improving_ = 0.5;     // part of the latest reports lower than the one before
  double r_last_ = 0.0;
  Trace trace_;
  Recall recall_;
  BendBank bends_;
  TrendBank trends_;
  KnownDigest digest_;  // of all of them, until the next report
};

}  // namespace laird::estimators
