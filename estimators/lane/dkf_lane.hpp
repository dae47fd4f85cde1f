// Dynamic Kalman Filter of one learning curve: one step, for any arithmetic type.
//
// Source: Wang, Liu, Zhou, "CoRE-Learning with Look-Ahead and Immediate Resource Allocation"
// (LaiRA), eqs. 2-8. State Theta = [theta, theta', theta''], theta = [slope; intercept] of ln loss
// against x = ln s; F of eq. 4 with step Delta; H = [x; 1; 0; 0; 0; 0].
//
// Two changes of coordinates, both exact:
// *Level coordinates.* Each intercept is replaced by the level at the present sample count,
// level_i = intercept_i + slope_i x. F acts alike on slopes and intercepts, so it is unchanged;
// moving from x to x + dx shears every pair (level += slope dx); H becomes [0; 1; 0; 0; 0; 0]. As
// printed, [x; 1] hardly turns from one report to the next at large s and the condition number of P
// reaches 1e17; in level coordinates double never loses positive definiteness. The process noise q
// I of the paper becomes q [[1, x], [x, 1 + x^2]] per order. *Orders in steps.* The state holds
// theta, Delta theta', (Delta^2 / 2) theta'', so F is [[1, 1, 1], [0, 1, 2], [0, 0, 1]] whatever
// Delta, without a multiplication, and D steps ahead is theta + D theta_1 + D^2 theta_2.
//
// Symbols: b, m slope and level of order 0, 1, 2; p the 21 different entries of P; x = ln s;
// r = ln loss; R, q0 q1 q2 variances of observation and process noise, scaled like the orders.
#pragma once

#include "estimators/lane/qualifiers.hpp"

namespace laird {
namespace lane {

// Order of the packed state: 6 means (b0 m0 b1 m1 b2 m2), then P by 2x2 blocks: the diagonal
// blocks 00, 11, 22 with 3 entries each (bb, bm, mm), the blocks 01, 02, 12 with 4 (row-major).
constexpr int kDkfMeans = 6;
constexpr int kDkfCovariances = 21;

template <class T>
struct DkfConstants {
  T process[3];   // q of theta, theta', theta'', times 1, Delta^2, Delta^4 / 4
  T observation;  // R, eq. 2
};

template <class T>
struct DkfState {
  T mean[kDkfMeans];
  T p[kDkfCovariances];
};

// Variances of the three orders as the paper writes them, for a step Delta, in the state's units.
template <class T>
LAIRD_LANE void dkf_scale(T step, const T* variance, T* scaled) {
  const T square = step * step;
  scaled[0] = variance[0];
  scaled[1] = variance[1] * square;
  scaled[2] = variance[2] * square * square * constant<T>(0.25);
}

namespace dkf_detail {

template <class T>
struct Full {
  T bb, bm, mb, mm;
};
template <class T>
struct Symmetric {
  T bb, bm, mm;
};

template <class T>
LAIRD_LANE void shear(Symmetric<T>& c, T dx) {
  const T bm = c.bm + dx * c.bb;
  c.mm = c.mm + dx * (c.bm + bm);
  c.bm = bm;
}
template <class T>
LAIRD_LANE void shear(Full<T>& c, T dx) {
  const T bm = c.bm + dx * c.bb;
  c.mm = c.mm + dx * (c.mb + bm);
  c.mb = c.mb + dx * c.bb;
  c.bm = bm;
}
template <class T>
LAIRD_LANE void add_noise(Symmetric<T>& c, T q, T x) {
  const T qx = q * x;
  c.bb = c.bb + q;
  c.bm = c.bm + qx;
  c.mm = c.mm + (q + qx * x);
}

}  // namespace dkf_detail

// Mean part of eq. 5 and the shear.
template <class T>
LAIRD_LANE void dkf_predict_mean(T* m, T dx) {
  m[0] = m[0] + (m[2] + m[4]);
  m[1] = m[1] + (m[3] + m[5]);
  m[2] = m[2] + (m[4] + m[4]);
  m[3] = m[3] + (m[5] + m[5]);
  m[1] = m[1] + dx * m[0];
  m[3] = m[3] + dx * m[2];
  m[5] = m[5] + dx * m[4];
}

// Covariance of eqs. 5-7: one step ahead, sheared to the new x, then shrunk by a report; gives the
// gain. `x` is the new ln s, `dx` its increase. Blocks are finished and stored as early as
// possible: with 16 registers, that order is what keeps the vectors out of memory.
template <class T>
LAIRD_LANE void dkf_step_covariance(T* p, const DkfConstants<T>& c, T x, T dx, T* g) {
  using dkf_detail::Full;
  using dkf_detail::Symmetric;
  Symmetric<T> a22 = {p[6], p[7], p[8]};
  const Full<T> a12 = {p[17], p[18], p[19], p[20]};
  // Left products with F: B12 = A12 + 2 A22, B02 = A02 + A12 + A22, B01 = A01 + A11 + A21.
  const T a22_bm2 = a22.bm + a22.bm;
  Full<T> b12 = {a12.bb + (a22.bb + a22.bb), a12.bm + a22_bm2, a12.mb + a22_bm2,
                 a12.mm + (a22.mm + a22.mm)};
  const Full<T> a02 = {p[13], p[14], p[15], p[16]};
  Full<T> b02 = {a02.bb + (a12.bb + a22.bb), a02.bm + (a12.bm + a22.bm), a02.mb + (a12.mb + a22.bm),
                 a02.mm + (a12.mm + a22.mm)};
  const Symmetric<T> a11 = {p[3], p[4], p[5]};
  const Full<T> a01 = {p[9], p[10], p[11], p[12]};
  const Full<T> b01 = {a01.bb + (a11.bb + a12.bb), a01.bm + (a11.bm + a12.mb),
                       a01.mb + (a11.bm + a12.bm), a01.mm + (a11.mm + a12.mm)};
  // Right products with F transposed: C00 = A00 + A10 + A20 + B01 + B02, C01 = B01 + 2 B02.
  Symmetric<T> c00 = {p[0] + ((a01.bb + b01.bb) + (a02.bb + b02.bb)),
                      p[1] + ((a01.mb + b01.bm) + (a02.mb + b02.bm)),
                      p[2] + ((a01.mm + b01.mm) + (a02.mm + b02.mm))};
  Full<T> c01 = {b01.bb + (b02.bb + b02.bb), b01.bm + (b02.bm + b02.bm), b01.mb + (b02.mb + b02.mb),
                 b01.mm + (b02.mm + b02.mm)};
  // C11 = A11 + 2 A21 + 2 B12.
  Symmetric<T> c11 = {a11.bb + ((a12.bb + b12.bb) + (a12.bb + b12.bb)),
                      a11.bm + ((a12.mb + b12.bm) + (a12.mb + b12.bm)),
                      a11.mm + ((a12.mm + b12.mm) + (a12.mm + b12.mm))};
  dkf_detail::shear(c00, dx);
  dkf_detail::add_noise(c00, c.process[0], x);
  dkf_detail::shear(c01, dx);
  dkf_detail::shear(b02, dx);

  // Eq. 7 with H = [0; 1; 0; 0; 0; 0]: the column of P of the level of order 0.
  const T inverse = constant<T>(1.0) / (c00.mm + c.observation);
  const T k0 = c00.bm;
  const T k1 = c00.mm;
  const T k2 = c01.mb;
  const T k3 = c01.mm;
  const T k4 = b02.mb;
  const T k5 = b02.mm;
  g[0] = k0 * inverse;
  g[1] = k1 * inverse;
  g[2] = k2 * inverse;
  g[3] = k3 * inverse;
  g[4] = k4 * inverse;
  g[5] = k5 * inverse;

  // Eq. 6: P -= gain column^T.
  p[0] = c00.bb - g[0] * k0;
  p[1] = c00.bm - g[0] * k1;
  p[2] = c00.mm - g[1] * k1;
  p[9] = c01.bb - g[0] * k2;
  p[10] = c01.bm - g[0] * k3;
  p[11] = c01.mb - g[1] * k2;
  p[12] = c01.mm - g[1] * k3;
  p[13] = b02.bb - g[0] * k4;
  p[14] = b02.bm - g[0] * k5;
  p[15] = b02.mb - g[1] * k4;
  p[16] = b02.mm - g[1] * k5;
  dkf_detail::shear(c11, dx);
  dkf_detail::add_noise(c11, c.process[1], x);
  p[3] = c11.bb - g[2] * k2;
  p[4] = c11.bm - g[2] * k3;
  p[5] = c11.mm - g[3] * k3;
  dkf_detail::shear(b12, dx);
  p[17] = b12.bb - g[2] * k4;
  p[18] = b12.bm - g[2] * k5;
  p[19] = b12.mb - g[3] * k4;
  p[20] = b12.mm - g[3] * k5;
  dkf_detail::shear(a22, dx);
  dkf_detail::add_noise(a22, c.process[2], x);
  p[6] = a22.bb - g[4] * k4;
  p[7] = a22.bm - g[4] * k5;
  p[8] = a22.mm - g[5] * k5;
}

// Eq. 6, mean.
template <class T>
LAIRD_LANE void dkf_correct_mean(T* m, T r, const T* gain) {
  const T innovation = r - m[1];
  for (int i = 0; i < kDkfMeans; ++i) m[i] = m[i] + gain[i] * innovation;
}

// Eqs. 5-7 in one: the filter moves to x and takes in r.
template <class T>
LAIRD_LANE void dkf_update(DkfState<T>& s, const DkfConstants<T>& c, T x, T dx, T r) {
  T gain[kDkfMeans];
  dkf_step_covariance(s.p, c, x, dx, gain);
  dkf_predict_mean(s.mean, dx);
  dkf_correct_mean(s.mean, r, gain);
}

// The mean alone, where filters with the same constants and the same sample schedule share P and so
// the gain.
template <class T>
LAIRD_LANE void dkf_update_mean(T* m, T dx, T r, const T* gain) {
  dkf_predict_mean(m, dx);
  dkf_correct_mean(m, r, gain);
}

// The first report: diagonal variances (scaled) in the paper's coordinates at x, moved to level
// coordinates and shrunk by the report itself, which is also the first level.
template <class T>
LAIRD_LANE void dkf_start(DkfState<T>& s, const DkfConstants<T>& c, const T* variance, T x, T r) {
  for (int i = 0; i < kDkfMeans; ++i) s.mean[i] = constant<T>(0.0);
  for (int i = 0; i < kDkfCovariances; ++i) s.p[i] = constant<T>(0.0);
  s.mean[1] = r;
  for (int i = 0; i < 3; ++i) {
    const T vx = variance[i] * x;
    s.p[3 * i] = variance[i];
    s.p[3 * i + 1] = vx;
    s.p[3 * i + 2] = variance[i] + vx * x;
  }
  const T inverse = constant<T>(1.0) / (s.p[2] + c.observation);
  const T k0 = s.p[1];
  const T k1 = s.p[2];
  s.p[0] = s.p[0] - k0 * inverse * k0;
  s.p[1] = s.p[1] - k0 * inverse * k1;
  s.p[2] = s.p[2] - k1 * inverse * k1;
}

// Eq. 8 in closed form: ln loss after `steps` further reports, at x + dx.
template <class T>
LAIRD_LANE T dkf_look_ahead(const T* m, T steps, T dx) {
  const T slope = m[0] + steps * (m[2] + steps * m[4]);
  const T level = m[1] + steps * (m[3] + steps * m[5]);
  return level + dx * slope;
}

}  // namespace lane
}  // namespace laird
