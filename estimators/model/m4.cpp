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

M4::Moments M4::moments(double asymptote) const {
  Moments m;
  for (std::size_t i = 0; i < x_.size(); ++i) {
    const double y = exact::log(loss_[i] - asymptote);
    m.count += 1.0;
    const double dx = x_[i] - m.x;
    const double dy = y - m.y;
    const double dz = room_[i] - m.z;
    m.x += dx / m.count;
    m.y += dy / m.count;
    m.z += dz / m.count;
    const double ex = x_[i] - m.x;
    const double ey = y - m.y;
    const double ez = room_[i] - m.z;
    m.xx += dx * ex;
    m.xy += dx * ey;
    m.xz += dx * ez;
    m.yy += dy * ey;
    m.yz += dy * ez;
    m.zz += dz * ez;
  }
  return m;
}

// Line of y - alpha z against x.
M4::Fit M4::fit_alpha(const Moments& m, double asymptote, double alpha) {
  const double covariance = m.xy - alpha * m.xz;
  const double variance = m.yy - 2.0 * alpha * m.yz + alpha * alpha * m.zz;
  Fit fit;
  fit.asymptote = asymptote;
  fit.alpha = alpha;
  // A loss that never rises with data: c <= 0, as published.
  fit.exponent = m.xx > 0.0 ? std::min(0.0, covariance / m.xx) : 0.0;
  fit.log_beta = m.y - alpha * m.z - fit.exponent * m.x;
  const double residual =
      variance - 2.0 * fit.exponent * covariance + fit.exponent * fit.exponent * m.xx;
  fit.residual = std::max(0.0, residual) / m.count;
  return fit;
}

M4::Fit M4::fit(double start) const {
  const double lowest = *std::min_element(loss_.begin(), loss_.end());
  room_.resize(loss_.size());
  for (std::size_t i = 0; i < loss_.size(); ++i) room_[i] = exact::log(start - loss_[i]);
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
    for (int i = 0; i < kAsymptotes; ++i) {
      const double asymptote = (share_low + share_step * i) * lowest;
      const Moments m = moments(asymptote);
      for (int j = 0; j < kAlphas; ++j) {
        const Fit candidate = fit_alpha(m, asymptote, alpha_low + alpha_step * j);
        if (first || candidate.residual < best.residual) {
          best = candidate;
          first = false;
        }
      }
    }
    const double share_best = best.asymptote / lowest;
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
