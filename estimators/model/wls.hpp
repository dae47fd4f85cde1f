// Least squares and discounted (weighted) least squares of a learning curve, online.
//
// Source: LaiRA (Wang, Liu, Zhou), eq. 9, Theorem 1, eq. 12. Model: r = X^T theta, X = [x; 1],
// x = ln s, r = ln loss; theta = [-b; ln a] of loss = a s^-b.
// Symbols: gamma discount per report (1 is plain least squares); lambda ridge; V_n = lambda I +
// sum gamma^(n-i) X_i X_i^T; beta_n the noise part of Theorem 1; delta its failure probability; S
// bound on |theta|; R bound on the noise of r.
// Deviation, exact: the sums are kept centred, so that V_n is solved without cancelling large ln s.
// Sample counts below 1 are taken as 1: ln 0 does not exist (the paper starts at s = B).
#pragma once

#include <cstdint>

#include "base/archive.hpp"
#include "estimators/model/observation.hpp"

namespace laird::estimators {

class DiscountedLeastSquares {
 public:
  struct Setting {
    double gamma = 0.7;
    double lambda = 1e-6;
  };
  struct Confidence {  // of Theorem 1
    double delta = 0.1;
    double theta_max = 10.0;  // S
    double noise_max = 0.1;   // R
  };

  explicit DiscountedLeastSquares(Setting setting) : setting_(setting) {}

  Observed observe(double samples, double loss);
  [[nodiscard]] std::uint64_t reports() const { return reports_; }

  [[nodiscard]] double slope() const;      // theta_1 = -b
  [[nodiscard]] double intercept() const;  // theta_2 = ln a
  // <X, theta> at a sample count, and the loss there.
  [[nodiscard]] double log_loss_at(double samples) const;
  [[nodiscard]] double loss_at(double samples) const;

  [[nodiscard]] double beta(const Confidence& confidence) const;
  // |X|_{V^-1} at a sample count.
  [[nodiscard]] double norm_at(double samples) const;
  // Lower confidence bound of ln loss, r-hat of eq. 12.
  [[nodiscard]] double log_loss_lower(double samples, const Confidence& confidence) const;

  // What it has learned; its setting is not part of it.
  void archive(Archive& ar);

 private:
  Setting setting_;
  std::uint64_t reports_ = 0;
  double samples_ = -1.0;
  double weight_ = 0.0;
  double gamma_power_squared_ = 1.0;  // gamma^(2n)
  double x_last_ = 0.0;
  double x_mean_ = 0.0;
  double r_mean_ = 0.0;
  double xx_ = 0.0;  // centred
  double xr_ = 0.0;
};

// Eq. 11: the least mean rate -d ln loss / d ln s that still reaches the target with
// `samples_more` further samples. Undefined in the paper at s = 0: `interval` (B) stands in for the
// samples then. Zero when the target is reached; kRateNever when no samples are left.
[[nodiscard]] double required_rate(double loss, double target_loss, double samples,
                                   double samples_more, double interval);
// Eq. 12: the rate the estimator sees over the next `samples_more` samples, at the lower confidence
// bound of the loss. Zero before two reports.
[[nodiscard]] double predicted_rate(const DiscountedLeastSquares& wls, double loss, double samples,
                                    double samples_more, double interval,
                                    const DiscountedLeastSquares::Confidence& confidence);
inline constexpr double kRateNever = 1e300;

}  // namespace laird::estimators
