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

// Where the 21 covariances of one filter are: by default an array. Other engines bring their own
// with the same four members (a tile's rows, a kernel's memory).
template <class T>
struct DkfArray {
  T* p;
  LAIRD_LANE T get(int k) const { return p[k]; }
  LAIRD_LANE void set(int k, T v) const { p[k] = v; }
  // Called where what was read before is better read again than kept.
  LAIRD_LANE void forget() const {}
};

// Covariance of eqs. 5-7: one step ahead, sheared to the new x, then shrunk by a report; gives the
// gain. `x` is the new ln s, `dx` its increase. In two halves, each of which reads what it needs
// and finishes what it computes: all 21 entries and their successors at once do not fit 16
// registers.
template <class T, class Rows>
LAIRD_LANE void dkf_step_covariance(const Rows& p, const DkfConstants<T>& c, T x, T dx, T* gain) {
  using dkf_detail::Full;
  using dkf_detail::Symmetric;
  T k2, k3, k4, k5, g2, g3, g4, g5;
  {
    // Left products with F: B01 = A01 + A11 + A21, B02 = A02 + A12 + A22; right products with F
    // transposed: C00 = A00 + A10 + A20 + B01 + B02, C01 = B01 + 2 B02, C02 = B02.
    const Full<T> a02 = {p.get(13), p.get(14), p.get(15), p.get(16)};
    Full<T> c02 = {a02.bb + (p.get(17) + p.get(6)), a02.bm + (p.get(18) + p.get(7)),
                   a02.mb + (p.get(19) + p.get(7)), a02.mm + (p.get(20) + p.get(8))};
    const Full<T> a01 = {p.get(9), p.get(10), p.get(11), p.get(12)};
    const Full<T> b01 = {a01.bb + (p.get(3) + p.get(17)), a01.bm + (p.get(4) + p.get(19)),
                         a01.mb + (p.get(4) + p.get(18)), a01.mm + (p.get(5) + p.get(20))};
    Symmetric<T> c00 = {p.get(0) + ((a01.bb + b01.bb) + (a02.bb + c02.bb)),
                        p.get(1) + ((a01.mb + b01.bm) + (a02.mb + c02.bm)),
                        p.get(2) + ((a01.mm + b01.mm) + (a02.mm + c02.mm))};
    Full<T> c01 = {b01.bb + (c02.bb + c02.bb), b01.bm + (c02.bm + c02.bm),
                   b01.mb + (c02.mb + c02.mb), b01.mm + (c02.mm + c02.mm)};
    dkf_detail::shear(c00, dx);
    dkf_detail::add_noise(c00, c.process[0], x);
    dkf_detail::shear(c01, dx);
    dkf_detail::shear(c02, dx);

    // Eq. 7 with H = [0; 1; 0; 0; 0; 0]: the column of P of the level of order 0 is k.
    const T inverse = constant<T>(1.0) / (c00.mm + c.observation);
    const T k0 = c00.bm;
    const T k1 = c00.mm;
    k2 = c01.mb;
    k3 = c01.mm;
    k4 = c02.mb;
    k5 = c02.mm;
    const T g0 = k0 * inverse;
    const T g1 = k1 * inverse;
    g2 = k2 * inverse;
    g3 = k3 * inverse;
    g4 = k4 * inverse;
    g5 = k5 * inverse;
    // Eq. 6: P -= gain k^T.
    p.set(0, c00.bb - g0 * k0);
    p.set(1, c00.bm - g0 * k1);
    p.set(2, c00.mm - g1 * k1);
    p.set(9, c01.bb - g0 * k2);
    p.set(10, c01.bm - g0 * k3);
    p.set(11, c01.mb - g1 * k2);
    p.set(12, c01.mm - g1 * k3);
    p.set(13, c02.bb - g0 * k4);
    p.set(14, c02.bm - g0 * k5);
    p.set(15, c02.mb - g1 * k4);
    p.set(16, c02.mm - g1 * k5);
    gain[0] = g0;
    gain[1] = g1;
    gain[2] = g2;
    gain[3] = g3;
    gain[4] = g4;
    gain[5] = g5;
  }
  p.forget();
  {
    // C12 = A12 + 2 A22, C11 = A11 + 2 (A21 + C12), C22 = A22.
    Symmetric<T> c22 = {p.get(6), p.get(7), p.get(8)};
    const Full<T> a12 = {p.get(17), p.get(18), p.get(19), p.get(20)};
    const T c22_bm2 = c22.bm + c22.bm;
    Full<T> c12 = {a12.bb + (c22.bb + c22.bb), a12.bm + c22_bm2, a12.mb + c22_bm2,
                   a12.mm + (c22.mm + c22.mm)};
    const T bb = a12.bb + c12.bb;
    const T bm = a12.mb + c12.bm;
    const T mm = a12.mm + c12.mm;
    Symmetric<T> c11 = {p.get(3) + (bb + bb), p.get(4) + (bm + bm), p.get(5) + (mm + mm)};
    dkf_detail::shear(c11, dx);
    dkf_detail::add_noise(c11, c.process[1], x);
    p.set(3, c11.bb - g2 * k2);
    p.set(4, c11.bm - g2 * k3);
    p.set(5, c11.mm - g3 * k3);
    dkf_detail::shear(c12, dx);
    p.set(17, c12.bb - g2 * k4);
    p.set(18, c12.bm - g2 * k5);
    p.set(19, c12.mb - g3 * k4);
    p.set(20, c12.mm - g3 * k5);
    dkf_detail::shear(c22, dx);
    dkf_detail::add_noise(c22, c.process[2], x);
    p.set(6, c22.bb - g4 * k4);
    p.set(7, c22.bm - g4 * k5);
    p.set(8, c22.mm - g5 * k5);
  }
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
  dkf_step_covariance(DkfArray<T>{s.p}, c, x, dx, gain);
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
