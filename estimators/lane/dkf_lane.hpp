// Dynamic Kalman Filter of one learning curve: one step, for any arithmetic type.
//
// Source: Wang, Liu, Zhou, "CoRE-Learning with Look-Ahead and Immediate Resource Allocation"
// (LaiRA), eqs. 2-8. State Theta = [theta, theta', theta''], theta = [slope; intercept] of ln loss
// against x = ln s; F of eq. 4 with step Delta; H = [x; 1; 0; 0; 0; 0].
//
// Deviation, exact: *level coordinates*. Each intercept is replaced by the level at the present
// sample count, level_i = intercept_i + slope_i x. F acts alike on slopes and intercepts, so it is
// unchanged; moving from x to x + dx shears every pair (level += slope dx); H becomes [0; 1; 0...].
// As printed, [x; 1] is nearly parallel to itself from one step to the next at large s and the
// condition number of P reaches 1e17; in level coordinates double never loses positive
// definiteness. The process noise q I of the paper becomes q [[1, x], [x, 1 + x^2]] per order.
//
// Symbols: b, m slope and level of order 0, 1, 2; p the 21 different entries of P; x = ln s;
// r = ln loss; h = Delta; R, q0 q1 q2 variances of observation and process noise.
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
  T step;         // Delta, eq. 4
  T process[3];   // q of theta, theta', theta''
  T observation;  // R, eq. 2
};

template <class T>
struct DkfState {
  T mean[kDkfMeans];
  T p[kDkfCovariances];
};

namespace dkf_detail {

// Block layout: symmetric blocks {bb, bm, mm}; full blocks {bb, bm, mb, mm}.
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
  const T lift = c.bm + c.bm + dx * c.bb;
  c.mm = c.mm + dx * lift;
  c.bm = c.bm + dx * c.bb;
}
template <class T>
LAIRD_LANE void shear(Full<T>& c, T dx) {
  const T bm = c.bm + dx * c.bb;
  c.mm = c.mm + dx * (c.mb + bm);
  c.mb = c.mb + dx * c.bb;
  c.bm = bm;
}

}  // namespace dkf_detail

// Eq. 5 and the shear to the new x: mean and covariance one step ahead. `x` is the new ln s, `dx`
// its increase.
template <class T>
LAIRD_LANE void dkf_predict(DkfState<T>& s, const DkfConstants<T>& c, T x, T dx) {
  using dkf_detail::Full;
  using dkf_detail::Symmetric;
  const T h = c.step;
  const T h2 = h * h * constant<T>(0.5);

  T* m = s.mean;
  m[0] = m[0] + h * m[2] + h2 * m[4];
  m[1] = m[1] + h * m[3] + h2 * m[5];
  m[2] = m[2] + h * m[4];
  m[3] = m[3] + h * m[5];
  m[1] = m[1] + dx * m[0];
  m[3] = m[3] + dx * m[2];
  m[5] = m[5] + dx * m[4];

  T* p = s.p;
  Symmetric<T> a00 = {p[0], p[1], p[2]};
  Symmetric<T> a11 = {p[3], p[4], p[5]};
  Symmetric<T> a22 = {p[6], p[7], p[8]};
  Full<T> a01 = {p[9], p[10], p[11], p[12]};
  Full<T> a02 = {p[13], p[14], p[15], p[16]};
  Full<T> a12 = {p[17], p[18], p[19], p[20]};

  // Left product with F, only the blocks needed (B01, B02, B12, B11, the symmetric part of B00).
  const Full<T> b02 = {a02.bb + h * a12.bb + h2 * a22.bb, a02.bm + h * a12.bm + h2 * a22.bm,
                       a02.mb + h * a12.mb + h2 * a22.bm, a02.mm + h * a12.mm + h2 * a22.mm};
  const Full<T> b12 = {a12.bb + h * a22.bb, a12.bm + h * a22.bm, a12.mb + h * a22.bm,
                       a12.mm + h * a22.mm};
  const Full<T> b01 = {a01.bb + h * a11.bb + h2 * a12.bb, a01.bm + h * a11.bm + h2 * a12.mb,
                       a01.mb + h * a11.bm + h2 * a12.bm, a01.mm + h * a11.mm + h2 * a12.mm};
  // Right product with F transposed. C00 = A00 + h A10 + h2 A20 + h B01 + h2 B02.
  a00.bb = a00.bb + h * (a01.bb + b01.bb) + h2 * (a02.bb + b02.bb);
  a00.bm = a00.bm + h * (a01.mb + b01.bm) + h2 * (a02.mb + b02.bm);
  a00.mm = a00.mm + h * (a01.mm + b01.mm) + h2 * (a02.mm + b02.mm);
  a11.bb = a11.bb + h * (a12.bb + b12.bb);
  a11.bm = a11.bm + h * (a12.mb + b12.bm);
  a11.mm = a11.mm + h * (a12.mm + b12.mm);
  a01 = {b01.bb + h * b02.bb, b01.bm + h * b02.bm, b01.mb + h * b02.mb, b01.mm + h * b02.mm};
  a02 = b02;
  a12 = b12;

  dkf_detail::shear(a00, dx);
  dkf_detail::shear(a11, dx);
  dkf_detail::shear(a22, dx);
  dkf_detail::shear(a01, dx);
  dkf_detail::shear(a02, dx);
  dkf_detail::shear(a12, dx);

  const T xx = constant<T>(1.0) + x * x;
  p[0] = a00.bb + c.process[0];
  p[1] = a00.bm + c.process[0] * x;
  p[2] = a00.mm + c.process[0] * xx;
  p[3] = a11.bb + c.process[1];
  p[4] = a11.bm + c.process[1] * x;
  p[5] = a11.mm + c.process[1] * xx;
  p[6] = a22.bb + c.process[2];
  p[7] = a22.bm + c.process[2] * x;
  p[8] = a22.mm + c.process[2] * xx;
  p[9] = a01.bb;
  p[10] = a01.bm;
  p[11] = a01.mb;
  p[12] = a01.mm;
  p[13] = a02.bb;
  p[14] = a02.bm;
  p[15] = a02.mb;
  p[16] = a02.mm;
  p[17] = a12.bb;
  p[18] = a12.bm;
  p[19] = a12.mb;
  p[20] = a12.mm;
}

// The gain of eq. 7 with H = [0; 1; 0; 0; 0; 0]: the column of P that belongs to the level of
// order 0, over its innovation variance.
template <class T>
LAIRD_LANE void dkf_gain(const DkfState<T>& s, const DkfConstants<T>& c, T* gain, T* column) {
  const T* p = s.p;
  column[0] = p[1];
  column[1] = p[2];
  column[2] = p[11];
  column[3] = p[12];
  column[4] = p[15];
  column[5] = p[16];
  const T inverse = constant<T>(1.0) / (p[2] + c.observation);
  for (int i = 0; i < kDkfMeans; ++i) gain[i] = column[i] * inverse;
}

// Eq. 6, covariance: P -= gain column^T.
template <class T>
LAIRD_LANE void dkf_shrink(DkfState<T>& s, const T* g, const T* k) {
  T* p = s.p;
  p[0] = p[0] - g[0] * k[0];
  p[1] = p[1] - g[0] * k[1];
  p[2] = p[2] - g[1] * k[1];
  p[3] = p[3] - g[2] * k[2];
  p[4] = p[4] - g[2] * k[3];
  p[5] = p[5] - g[3] * k[3];
  p[6] = p[6] - g[4] * k[4];
  p[7] = p[7] - g[4] * k[5];
  p[8] = p[8] - g[5] * k[5];
  p[9] = p[9] - g[0] * k[2];
  p[10] = p[10] - g[0] * k[3];
  p[11] = p[11] - g[1] * k[2];
  p[12] = p[12] - g[1] * k[3];
  p[13] = p[13] - g[0] * k[4];
  p[14] = p[14] - g[0] * k[5];
  p[15] = p[15] - g[1] * k[4];
  p[16] = p[16] - g[1] * k[5];
  p[17] = p[17] - g[2] * k[4];
  p[18] = p[18] - g[2] * k[5];
  p[19] = p[19] - g[3] * k[4];
  p[20] = p[20] - g[3] * k[5];
}

// Eqs. 5-7 in one: the filter moves to x and takes in r.
template <class T>
LAIRD_LANE void dkf_update(DkfState<T>& s, const DkfConstants<T>& c, T x, T dx, T r) {
  dkf_predict(s, c, x, dx);
  T gain[kDkfMeans];
  T column[kDkfMeans];
  dkf_gain(s, c, gain, column);
  const T innovation = r - s.mean[1];
  for (int i = 0; i < kDkfMeans; ++i) s.mean[i] = s.mean[i] + gain[i] * innovation;
  dkf_shrink(s, gain, column);
}

// The mean alone, where filters with the same constants and the same sample schedule share P and so
// the gain.
template <class T>
LAIRD_LANE void dkf_update_mean(T* m, T step, T dx, T r, const T* gain) {
  const T h = step;
  const T h2 = h * h * constant<T>(0.5);
  m[0] = m[0] + h * m[2] + h2 * m[4];
  m[1] = m[1] + h * m[3] + h2 * m[5];
  m[2] = m[2] + h * m[4];
  m[3] = m[3] + h * m[5];
  m[1] = m[1] + dx * m[0];
  m[3] = m[3] + dx * m[2];
  m[5] = m[5] + dx * m[4];
  const T innovation = r - m[1];
  for (int i = 0; i < kDkfMeans; ++i) m[i] = m[i] + gain[i] * innovation;
}

// Diagonal P of the paper's coordinates at x, moved to level coordinates.
template <class T>
LAIRD_LANE void dkf_start(DkfState<T>& s, const T* variance, T x, T r) {
  for (int i = 0; i < kDkfMeans; ++i) s.mean[i] = constant<T>(0.0);
  for (int i = 0; i < kDkfCovariances; ++i) s.p[i] = constant<T>(0.0);
  s.mean[1] = r;
  const T xx = constant<T>(1.0) + x * x;
  for (int i = 0; i < 3; ++i) {
    s.p[3 * i] = variance[i];
    s.p[3 * i + 1] = variance[i] * x;
    s.p[3 * i + 2] = variance[i] * xx;
  }
}

// Eq. 8 in closed form: ln loss after `steps` further reports, at x + dx. F^D is F with h = D
// Delta.
template <class T>
LAIRD_LANE T dkf_look_ahead(const T* m, T step, T steps, T dx) {
  const T h = step * steps;
  const T h2 = h * h * constant<T>(0.5);
  const T slope = m[0] + h * m[2] + h2 * m[4];
  const T level = m[1] + h * m[3] + h2 * m[5];
  return level + dx * slope;
}

}  // namespace lane
}  // namespace laird
