// Discounted least squares of one learning curve, recursive (RLS): one step, any arithmetic type.
//
// Source: LaiRA, eq. 9; recursion: Haykin, Adaptive Filter Theory, ch. 10.3. Level coordinates as
// in dkf_lane.hpp: the regressor is [0; 1] after the shear by dx. Deviation: the ridge fades with
// the data (the recursion carries one inverse); the closed form with a ridge that stays is
// estimators/model/wls.hpp. Symbols: slope, level; p the packed inverse of the weighted Gram
// matrix; g the discount.
#pragma once

#include "estimators/lane/qualifiers.hpp"

namespace laird {
namespace lane {

template <class T>
struct RlsState {
  T slope, level;
  T p_ss, p_sl, p_ll;
};

template <class T>
LAIRD_LANE void rls_update(RlsState<T>& s, T inverse_discount, T discount, T dx, T r) {
  s.level = s.level + dx * s.slope;
  const T lift = s.p_sl + s.p_sl + dx * s.p_ss;
  s.p_ll = s.p_ll + dx * lift;
  s.p_sl = s.p_sl + dx * s.p_ss;
  const T inverse = constant<T>(1.0) / (discount + s.p_ll);
  const T gain_s = s.p_sl * inverse;
  const T gain_l = s.p_ll * inverse;
  const T innovation = r - s.level;
  s.slope = s.slope + gain_s * innovation;
  s.level = s.level + gain_l * innovation;
  s.p_ss = (s.p_ss - gain_s * s.p_sl) * inverse_discount;
  s.p_sl = (s.p_sl - gain_s * s.p_ll) * inverse_discount;
  s.p_ll = (s.p_ll - gain_l * s.p_ll) * inverse_discount;
}

}  // namespace lane
}  // namespace laird
