#include "consensus/cotrain/privacy_budget.hpp"

#include <array>
#include <cmath>
#include <cstdio>
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

std::string privacy_words(double zcdp, double delta) {
  // Rounded up: a budget is not told smaller than it is.
  const double epsilon = std::ceil(epsilon_of(zcdp, delta) * 100.0) / 100.0;
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "epsilon %.2f at delta %.3g", epsilon, delta);
  return text.data();
}

}  // namespace laird::consensus
