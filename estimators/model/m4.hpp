// The M4 estimator of learning curves: an offline fit, the paper's expensive baseline.
//
// Source: Alabdulmohsin, Neyshabur, Zhai, "Revisiting Neural Scaling Laws in Language and Vision"
// (NeurIPS 2022), estimator M4:
//     (e_x - e_inf) / (e_0 - e_x)^alpha = beta x^c
// fitted by least squares of the logarithm of both sides, block by block: ln beta and c in closed
// form, alpha and e_inf by descent.
// Symbols: x samples; e_x loss; e_inf the loss never undercut; e_0 the loss before learning.
// Assumptions and deviations: e_0 is 2% above the largest loss seen (a trainer reports no chance
// level); e_inf and alpha are searched on a grid that is then refined, instead of by gradient,
// which finds the same minimum and needs no step size.
#pragma once

#include <cstddef>
#include <vector>

#include "estimators/model/observation.hpp"

namespace laird::estimators {

class M4 {
 public:
  static constexpr std::size_t kReportsMax = 4096;

  // Keeps every report up to kReportsMax, then every other one: M4 fits them all again each time.
  Observed observe(double samples, double loss);
  // Fits and extrapolates. The last loss when there are fewer than three reports.
  [[nodiscard]] double loss_at(double samples) const;

 private:
  struct Fit {
    double asymptote = 0.0;  // e_inf
    double alpha = 0.0;
    double log_beta = 0.0;
    double exponent = 0.0;  // c
    double residual = 0.0;
  };
  [[nodiscard]] Fit fit_given(double asymptote, double alpha, double start) const;
  [[nodiscard]] Fit fit(double start) const;

  std::vector<double> x_;  // ln samples
  std::vector<double> loss_;
  double samples_ = -1.0;
};

}  // namespace laird::estimators
