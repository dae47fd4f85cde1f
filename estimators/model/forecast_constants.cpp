// Written by `laird-lab forecast --curves DIR --tune FILE`; docs/forecasting.md says how.
#include "estimators/model/forecaster.hpp"

namespace laird::estimators {

const ForecastConstants& shipped_constants() {
  static constexpr ForecastConstants kConstants = {
      .memory_mid = 4.0,
      .memory_ratio = 5.0,
      .shift = 0.8,
      .ridge = 0.001,
      .slope_prior = -0.3,
      .likelihood_power = 1.5,
      .dof_offset = 2.0,
      .noise_floor = 1e-5,
      .drop_max = 2.8,
      .rise_max = 0.4,
      .caution = 0.0,
      .scale_level = 0.05,
      .scale_noise = 1.0,
      .scale_distance = 0.2,
      .scale_bank = 1.0,
      .error_quantiles = {-2.5, -1.7, -1.2, -0.5, 0.0, 0.5, 1.2, 1.7, 2.5}};
  return kConstants;
}

}  // namespace laird::estimators
