// One damped trend filter, the member of a bank: level and slope of ln loss in log-time.
//
// Source: ours; the local linear trend with damping (Gardner and McKenzie 1985) as a Kalman filter
// whose time is u = ln(samples + B) in place of reports.
// Symbols: r = ln loss; l level, v slope dr/du; d = u' - u the step; kappa damping; mu the slope
// that v returns to; q_l, q_v process noise (variance per unit of u); R = noise * rho observation
// noise, the curve's noise times the hypothesis' factor; P covariance.
//     x = 1 / (1 + kappa d / 8)       e = x^8 ~ exp(-kappa d)      a = 8 (1 - x^7) / (7 kappa)
//     l' = l + a (v - mu) + mu d      v' = mu + (v - mu) e          a = integral of e over the step
//     w = q_v (1 - e^2) / (2 kappa)
//     P_ll' = P_ll + 2 a P_lv + a^2 P_vv + q_l d + w a^2 / 3
//     P_lv' = (P_lv + a P_vv) e + w a / 2                           P_vv' = P_vv e^2 + w
// The damping is (1 + kappa d / 8)^-8 and not exp(-kappa d), so that + - * / and sqrt are enough:
// every engine gives the same bits.
// Evidence of a report: the density of Student's t with 3 degrees of freedom, without its constant,
// raised to 1/2, since neighbouring reports are not independent:
//     S = P_ll' + R     z = r - l'     evidence = 1 / ((1 + z^2 / (3 S)) sqrt(sqrt(S)))
// C++14, + - * / and sqrt only, no branch.
#pragma once

#include "base/exact_math.hpp"

namespace laird::estimators {

struct TrendConstants {
  double damping;       // kappa > 0
  double slope_mean;    // mu
  double level_noise;   // q_l
  double slope_noise;   // q_v
  double noise_factor;  // rho
};

struct TrendState {
  double level;
  double slope;
  double p_ll;
  double p_ls;
  double p_ss;
  double weight;
};

// Where the filter stands after a step of d in log-time without a report; the weight stays.
inline TrendState trend_ahead(const TrendConstants& c, const TrendState& s, double d) {
  const double x = 1.0 / (1.0 + 0.125 * c.damping * d);
  const double x2 = x * x;
  const double x4 = x2 * x2;
  const double e = x4 * x4;
  const double a = (1.0 - x4 * x2 * x) * 8.0 / (7.0 * c.damping);
  const double w = c.slope_noise * (1.0 - e * e) / (2.0 * c.damping);
  const double off = s.slope - c.slope_mean;
  TrendState next;
  next.level = s.level + a * off + c.slope_mean * d;
  next.slope = c.slope_mean + off * e;
  next.p_ll = s.p_ll + 2.0 * a * s.p_ls + a * a * s.p_ss + c.level_noise * d + w * a * a / 3.0;
  next.p_ls = (s.p_ls + a * s.p_ss) * e + w * a / 2.0;
  next.p_ss = s.p_ss * e * e + w;
  next.weight = s.weight;
  return next;
}

// Takes in r = ln loss at the present; `noise` is the curve's. The weight is multiplied by the
// evidence; the bank divides by the sum.
inline void trend_update(const TrendConstants& c, TrendState& s, double r, double noise) {
  const double variance = s.p_ll + c.noise_factor * noise;
  const double z = r - s.level;
  const double gain_l = s.p_ll / variance;
  const double gain_s = s.p_ls / variance;
  s.level += gain_l * z;
  s.slope += gain_s * z;
  s.p_ss -= gain_s * s.p_ls;
  s.p_ls -= gain_l * s.p_ls;
  s.p_ll -= gain_l * s.p_ll;
  const double root = exact::sqrt(exact::sqrt(variance));
  s.weight = s.weight / ((1.0 + z * z / (3.0 * variance)) * root);
}

}  // namespace laird::estimators
