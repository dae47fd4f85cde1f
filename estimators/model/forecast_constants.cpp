// Written by `laird-lab forecast --curves DIR --tune CHECKOUT`; docs/forecasting.md says how.
// clang-format off
#include "estimators/model/forecaster.hpp"

namespace laird::estimators {

const ForecastConstants& shipped_constants() {
  static constexpr ForecastConstants kConstants = {
      .memory_mid = 4.003,
      .memory_ratio = 3.998,
      .shift = 1.007,
      .ridge = 0.0009685,
      .slope_prior = -0.3,
      .slope_precision = 4.015,
      .likelihood_power = 1.009,
      .dof_offset = 2,
      .noise_floor = 1e-05,
      .drop_max = 2.659,
      .rise_max = 0.4,
      .caution = 0.1024,
      .scale_level = 0.04705,
      .scale_noise = 1.039,
      .scale_distance = 0.09285,
      .scale_bank = 0.5338,
      .error_quantiles = {-4.571, -2.523, -1.586, -0.4737, 0.2061, 0.6828, 1.422, 2.372, 3.471}};
  return kConstants;
}

}  // namespace laird::estimators
