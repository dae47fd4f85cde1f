// Our forecaster of learning curves: a bank of discounted regressions in log-time.
//
// Source: ours. It starts from LaiRA (Wang, Liu, Zhou), eq. 2: ln loss against ln samples, with
// parameters that drift, and keeps that time axis. In place of one second-order filter it holds
// kMemories x kBends hypotheses of how the curve bends and how much of the past still counts:
//     r(t) = level + slope * phi_k(t),   phi_k(t) = (1 - exp(-k t)) / k,   phi_0(t) = t
// Symbols: s samples; B the first reporting interval; u = ln(s + c B) log-time; t = u - u_now;
// r = ln loss; k bend (k > 0 flattens: in s it is the power law with an asymptote,
// r = a + b s^-k; k < 0 steepens); m memory: a report weighs (s_i / s_now)^m, so the window is a
// fixed *fraction* of the samples seen and the forecaster is free of any time scale of its own.
// Each hypothesis is a ridge regression kept as centred moments. Moving "now" by h is the affine
// map x -> x e^(k h) + phi_k(-h) of the regressor, so an update costs O(hypotheses), nothing is
// stored but the moments, and no large ln s is ever subtracted from another.
// Within a memory, bends are weighted by their (tempered) marginal likelihood; memories weigh
// the same. The forecast is the mixture; its spread is calibrated on real curves
// (docs/forecasting.md).
//
// Assumptions: reports come at roughly regular intervals; the curve is a curve (no restart from
// scratch in the middle: a restart shows as clipped reports and then a new level).
// Deviation from the paper: no velocity and acceleration of the parameters; damping is a
// hypothesis per task instead of a constant, because real curves differ in nothing more.
//
// Deterministic to the bit on every machine (base/exact_math only). About 1 KB, no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/archive.hpp"
#include "estimators/model/observation.hpp"

namespace laird::estimators {

inline constexpr std::size_t kMemories = 3;
inline constexpr std::array<double, 9> kBendGrid = {-0.3, -0.15, 0.0, 0.15, 0.3,
                                                    0.5,  0.75,  1.0, 1.4};
inline constexpr std::size_t kBends = kBendGrid.size();
// Levels of the calibrated error distribution, and the standardised errors at them.
inline constexpr std::array<double, 9> kErrorLevels = {0.02, 0.05, 0.10, 0.25, 0.50,
                                                       0.75, 0.90, 0.95, 0.98};

// Found by `laird-lab forecast --tune` (docs/forecasting.md); shipped in forecast_constants.cpp.
struct ForecastConstants {
  double memory_mid;        // m of the middle memory
  double memory_ratio;      // long and short memories are mid / ratio and mid * ratio
  double shift;             // c of u = ln(s + c B)
  double ridge;             // pulls the slope towards slope_prior, in units of sum w x^2
  double slope_prior;       // d ln loss / d ln s before anything is known
  double slope_precision;   // 1 / variance of the slope about its prior: noisy slopes count less
  double likelihood_power;  // 1 would trust the likelihood of correlated reports fully
  double dof_offset;        // taken off the effective count of reports before it is a power
  double noise_floor;       // variance of ln loss no curve is believed to beat
  double drop_max;          // largest drop of ln loss ever forecast
  double rise_max;          // largest rise
  double caution;           // the forecast is mean - caution * variance of the bank
  // Standard deviation of the forecast error of ln loss at log-distance d:
  // sqrt(scale_level^2 + scale_noise noise + scale_distance^2 d^2 + scale_bank * bank variance).
  double scale_level;
  double scale_noise;
  double scale_distance;
  double scale_bank;
  std::array<double, kErrorLevels.size()> error_quantiles;  // of (true - forecast) / scale
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

  [[nodiscard]] NeedForecast samples_to_reach(double target_loss,
                                              double planned_samples = 0.0) const;

  // Fills `out` with the quantiles (i + 1/2) / size of the further samples needed to reach the
  // target, ascending, kNever for the share that never does: equally likely needs to plan with.
  void need_quantiles(double target_loss, double planned_samples, std::span<double> out) const;

  // Slope d ln loss / d ln s the bank sees now, and the standard deviation of its residuals:
  // features for policies. Zero before the second distinct sample count.
  [[nodiscard]] double slope() const;
  [[nodiscard]] double noise() const;

  void archive(Archive& ar);

 private:
  struct Regression {  // one memory, one bend: centred moments of x = phi_k(t) and r
    double x_mean = 0.0;
    double xx = 0.0;
    double xr = 0.0;
  };
  struct Memory {
    double weight = 0.0;          // sum of weights
    double weight_squared = 0.0;  // sum of squared weights
    double r_mean = 0.0;
    double rr = 0.0;
    std::array<Regression, kBends> bends{};
  };
  struct Posterior;
  struct Outlook;  // error-free location and scale of r at one log-distance

  [[nodiscard]] bool all_finite() const;
  [[nodiscard]] double log_time(double samples) const;
  [[nodiscard]] double horizon_samples(double planned_samples) const;
  [[nodiscard]] Posterior posterior() const;
  [[nodiscard]] Outlook outlook(const Posterior& posterior, double distance) const;
  [[nodiscard]] double distance_to(double samples) const;
  void advance(double step);
  void add(double r);
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
  std::array<Memory, kMemories> memories_{};
  KnownDigest digest_;  // of all of them, until the next report
};

}  // namespace laird::estimators
