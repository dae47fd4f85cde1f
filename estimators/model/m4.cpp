#include "estimators/model/m4.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::estimators {

Observed M4::observe(double samples, double loss) {
  const Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  if (loss_.size() == kReportsMax) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < loss_.size(); i += 2, ++kept) {
      x_[kept] = x_[i];
      loss_[kept] = loss_[i];
    }
    x_.resize(kept);
    loss_.resize(kept);
  }
  x_.push_back(exact::log(std::max(1.0, samples)));
  loss_.push_back(loss);
  samples_ = samples;
  return observed;
}

// Line of ln(e - e_inf) - alpha ln(e_0 - e) against ln x.
M4::Fit M4::fit_given(double asymptote, double alpha, double start) const {
  const double n = static_cast<double>(x_.size());
  double x_mean = 0.0;
  double y_mean = 0.0;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double y = exact::log(loss_[i] - asymptote) - alpha * exact::log(start - loss_[i]);
    count += 1.0;
    const double dx = x_[i] - x_mean;
    const double dy = y - y_mean;
    x_mean += dx / count;
    y_mean += dy / count;
    xx += dx * (x_[i] - x_mean);
    xy += dx * (y - y_mean);
    yy += dy * (y - y_mean);
  }
  Fit fit;
  fit.asymptote = asymptote;
  fit.alpha = alpha;
  // A loss that never rises with data: c <= 0, as published.
  fit.exponent = xx > 0.0 ? std::min(0.0, xy / xx) : 0.0;
  fit.log_beta = y_mean - fit.exponent * x_mean;
  fit.residual = std::max(0.0, yy - 2.0 * fit.exponent * xy + fit.exponent * fit.exponent * xx) / n;
  return fit;
}

M4::Fit M4::fit(double start) const {
  const double lowest = *std::min_element(loss_.begin(), loss_.end());
  constexpr int kAsymptotes = 12;
  constexpr int kAlphas = 9;
  constexpr int kRounds = 4;
  double share_low = 0.0;  // e_inf as a share of the lowest loss
  double share_high = 0.99;
  double alpha_low = 0.0;
  double alpha_high = 2.0;
  Fit best;
  bool first = true;
  for (int round = 0; round < kRounds; ++round) {
    const double share_step = (share_high - share_low) / (kAsymptotes - 1);
    const double alpha_step = (alpha_high - alpha_low) / (kAlphas - 1);
    double share_best = share_low;
    for (int i = 0; i < kAsymptotes; ++i) {
      for (int j = 0; j < kAlphas; ++j) {
        const double share = share_low + share_step * i;
        const Fit candidate = fit_given(share * lowest, alpha_low + alpha_step * j, start);
        if (first || candidate.residual < best.residual) {
          best = candidate;
          first = false;
        }
      }
    }
    share_best = best.asymptote / lowest;
    share_low = std::max(0.0, share_best - share_step);
    share_high = std::min(0.999, share_best + share_step);
    alpha_low = std::max(0.0, best.alpha - alpha_step);
    alpha_high = best.alpha + alpha_step;
  }
  return best;
}

double M4::loss_at(double samples) const {
  if (loss_.empty()) return 0.0;
  if (loss_.size() < 3) return loss_.back();
  const double start = 1.02 * *std::max_element(loss_.begin(), loss_.end());
  const Fit f = fit(start);
  const double right = f.log_beta + f.exponent * exact::log(std::max(1.0, samples));
  // The left side rises from -inf to inf as e goes from e_inf to e_0: bisect.
  double low = f.asymptote;
  double high = start;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    const double left = exact::log(middle - f.asymptote) - f.alpha * exact::log(start - middle);
    if (left < right) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return 0.5 * (low + high);
}

}  // namespace laird::estimators
