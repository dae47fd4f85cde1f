#include "consensus/cotrain/privacy_budget.hpp"

#include <cmath>
#include <limits>

#include "base/exact_math.hpp"

namespace laird::consensus {

double zcdp_of_round(double noise) {
  if (!(noise > 0.0)) return std::numeric_limits<double>::infinity();
  const double loss_noise = kLossNoiseTimes * noise;
  return 0.5 / (noise * noise) + 0.5 / (loss_noise * loss_noise);
}

double epsilon_of(double zcdp, double delta) {
  if (!(zcdp > 0.0)) return 0.0;
  return zcdp + 2.0 * std::sqrt(zcdp * -exact::log(delta));
}

}  // namespace laird::consensus
