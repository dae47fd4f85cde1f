// One damped trend filter of a bank: one report, for any arithmetic type.
//
// Source: Gardner and McKenzie, "Forecasting trends in time series" (1985), the damped trend, as a
// Kalman filter in which the slope returns to a mean (Ornstein-Uhlenbeck); weights by a Student-t
// likelihood with 3 degrees of freedom and fixed share (Herbster and Warmuth 1998).
// Symbols: r = ln loss, observed, with the variance noise; level and slope of r against log-time; d
// the step of log-time, >= 0; kappa the damping; e the decay of the slope over d; a how far a slope
// of 1 carries the level; mu the slope's mean; P the covariance (ll, ls, ss); w the variance that
// the slope gains.
//     level += a (slope - mu) + mu d; slope = mu + (slope - mu) e; P = F P F^T + Q, F = [[1, a],
//     [0, e]]
// Deviation: e is (1 + kappa d / 8)^-8 in place of exp(-kappa d), and a is its integral. It is as
// good a damping, and needs no exp: + - * / and sqrt round alike on every engine.
// A likelihood falls with the square of z over the variance, 1 / ((1 + z^2 / (3 S)) sqrt(sqrt(S))):
// the square root of Student's, since reports are correlated.
#pragma once

#include "estimators/lane/qualifiers.hpp"

namespace laird {
namespace lane {

// In the order of a tile's rows.
constexpr int kBankStateRows = 6;
template <class T>
struct BankState {
  T level, slope;
  T p_ll, p_ls, p_ss;
  T weight;
};
constexpr int kBankConstantRows = 6;
template <class T>
struct BankConstants {
  T damping;       // kappa > 0
  T slope_mean;    // mu
  T level_noise;   // variance of the level per unit of log-time
  T slope_noise;   // of the slope
  T noise_factor;  // times the variance of a report
  T prior;         // the weight that the filter starts from
};

// Everything is in the order of the operations that every engine does.
template <class T>
LAIRD_LANE void bank_ahead(BankState<T>& s, const BankConstants<T>& c, T d) {
  const T one = constant<T>(1.0);
  const T two = constant<T>(2.0);
  const T x = one / (one + constant<T>(0.125) * c.damping * d);
  const T x2 = x * x;
  const T x4 = x2 * x2;
  const T e = x4 * x4;
  const T a = (one - x4 * x2 * x) * constant<T>(8.0) / (constant<T>(7.0) * c.damping);
  const T w = c.slope_noise * (one - e * e) / (two * c.damping);
  const T off = s.slope - c.slope_mean;
  s.level = s.level + a * off + c.slope_mean * d;
  s.slope = c.slope_mean + off * e;
  s.p_ll =
      s.p_ll + two * a * s.p_ls + a * a * s.p_ss + c.level_noise * d + w * a * a / constant<T>(3.0);
  s.p_ls = (s.p_ls + a * s.p_ss) * e + w * a / two;
  s.p_ss = s.p_ss * e * e + w;
}

// Takes in r, at the log-time that bank_ahead went to. The weight is not yet normalised.
template <class T>
LAIRD_LANE void bank_correct(BankState<T>& s, const BankConstants<T>& c, T r, T noise) {
  const T variance = s.p_ll + c.noise_factor * noise;
  const T z = r - s.level;
  const T gain_l = s.p_ll / variance;
  const T gain_s = s.p_ls / variance;
  s.level = s.level + gain_l * z;
  s.slope = s.slope + gain_s * z;
  s.p_ss = s.p_ss - gain_s * s.p_ls;
  s.p_ls = s.p_ls - gain_l * s.p_ls;
  s.p_ll = s.p_ll - gain_l * s.p_ll;
  const T root = square_root(square_root(variance));
  s.weight = s.weight / ((constant<T>(1.0) + z * z / (constant<T>(3.0) * variance)) * root);
}

// `total` is the sum over the bank of what bank_correct left.
template <class T>
LAIRD_LANE T bank_shared_weight(T weight, T prior, T total, T share) {
  const T keep = constant<T>(1.0) - share;
  return keep * (weight / total) + share * prior;
}

// What is summed over the bank for its forecast: 0 the mean, 1 the square, 2 the variance within.
template <class T>
LAIRD_LANE T bank_term(int which, T weight, T level, T variance, T origin) {
  const T off = level - origin;
  return which == 0 ? weight * off : which == 1 ? weight * off * off : weight * variance;
}

}  // namespace lane
}  // namespace laird
