// Written by `laird-lab forecast --curves DIR --tune CHECKOUT`; docs/forecasting.md says how.
// clang-format off
#include "estimators/model/forecaster.hpp"

namespace laird::estimators {

const ForecastConstants& shipped_constants() {
  static constexpr ForecastConstants kConstants = {
      .memory_mid = 4.075,
      .memory_ratio = 4.009,
      .shift = 0.9979,
      .ridge = 0.0009774,
      .slope_prior = -0.3,
      .likelihood_power = 1.012,
      .dof_offset = 1.5,
      .noise_floor = 1e-05,
      .drop_max = 2.637,
      .rise_max = 0.4,
      .caution = 0.1009,
      .scale_level = 0.04684,
      .scale_noise = 1.026,
      .scale_distance = 0.09254,
      .scale_bank = 0.5513,
      .error_quantiles = {-4.503, -2.544, -1.637, -0.4501, 0.1921, 0.7185, 1.442, 2.473, 3.355}};
  return kConstants;
}

}  // namespace laird::estimators
