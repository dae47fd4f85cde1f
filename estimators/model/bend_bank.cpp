#include "estimators/model/bend_bank.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::estimators {

namespace {

// Round numbers of ours, chosen on real curves; none was searched for.
constexpr std::array<double, kMemories> kMemoryGrid = {1.0, 4.0, 16.0};
constexpr double kRidge = 0.001;      // pulls the slope towards its prior, in units of sum w x^2
constexpr double kSlopePrior = -0.3;  // d ln loss / d ln s before anything is known
constexpr double kSlopePrecision =
    4.0;                              // 1 / variance of the slope about it: noisy ones count less
constexpr double kDofOffset = 2.0;    // taken off the effective count of reports
constexpr double kNoiseFloor = 1e-5;  // variance of ln loss no curve is believed to beat
constexpr std::size_t kStraight = 2;  // the hypothesis without a bend
static_assert(kBendGrid[kStraight] == 0.0);
// A change of ln loss that no forecast goes beyond: it keeps exp() finite and is no experience.
constexpr double kChangeMax = 20.0;
constexpr double kRiseMax = 0.4;

[[nodiscard]] bool finite(double v) { return v - v == 0.0; }

[[nodiscard]] double phi(double bend, double t) {
  return bend == 0.0 ? t : (1.0 - exact::exp(-bend * t)) / bend;
}

}  // namespace

void BendBank::advance(double step) {
  std::array<double, kBends> stretch;
  std::array<double, kBends> offset;
  for (std::size_t k = 0; k < kBends; ++k) {
    stretch[k] = exact::exp(kBendGrid[k] * step);
    offset[k] = kBendGrid[k] == 0.0 ? -step : (1.0 - stretch[k]) / kBendGrid[k];
  }
  for (std::size_t i = 0; i < kMemories; ++i) {
    Memory& m = memories_[i];
    const double fade = exact::exp(-kMemoryGrid[i] * step);
    m.weight *= fade;
    m.weight_squared *= fade * fade;
    m.rr *= fade;
    for (std::size_t k = 0; k < kBends; ++k) {
      Regression& b = m.bends[k];
      b.x_mean = b.x_mean * stretch[k] + offset[k];
      b.xx *= fade * stretch[k] * stretch[k];
      b.xr *= fade * stretch[k];
    }
  }
}

void BendBank::add(double r) {
  for (Memory& m : memories_) {
    const double before = m.weight;
    m.weight += 1.0;
    m.weight_squared += 1.0;
    const double share = before / m.weight;
    const double dr = r - m.r_mean;
    m.r_mean += dr / m.weight;
    m.rr += share * dr * dr;
    for (Regression& b : m.bends) {
      const double dx = -b.x_mean;
      b.xx += share * dx * dx;
      b.xr += share * dx * dr;
      b.x_mean += dx / m.weight;
    }
  }
}

double BendBank::expected(double step) const {
  const Memory& m = memories_[kMemories / 2];
  const Regression& line = m.bends[kStraight];
  const double slope = (line.xr + kRidge * kSlopePrior) / (line.xx + kRidge);
  return m.r_mean + slope * (step - line.x_mean);
}

BendBank::Posterior BendBank::posterior() const {
  Posterior result;
  for (std::size_t i = 0; i < kMemories; ++i) {
    const Memory& m = memories_[i];
    const double reports_effective = m.weight * m.weight / m.weight_squared;
    const double power = 0.5 * std::max(0.2, reports_effective - kDofOffset);
    const double correction = reports_effective / std::max(0.5, reports_effective - 2.0);
    std::array<double, kBends> variance;
    double variance_min = 0.0;
    for (std::size_t k = 0; k < kBends; ++k) {
      const Regression& b = m.bends[k];
      // Variance of the noise as the free fit leaves it, by its degrees of freedom.
      const double explained = b.xx > 0.0 ? b.xr * b.xr / b.xx : 0.0;
      const double noise = std::max(0.0, m.rr - explained) / m.weight * correction;
      const double ridge = kRidge + kSlopePrecision * noise;
      const double slope = (b.xr + ridge * kSlopePrior) / (b.xx + ridge);
      const double residual = m.rr - 2.0 * slope * b.xr + slope * slope * b.xx;
      variance[k] = std::max(0.0, residual) / m.weight + kNoiseFloor;
      variance_min = k == 0 ? variance[k] : std::min(variance_min, variance[k]);
      result.all[i][k] = {0.0, m.r_mean - slope * b.x_mean, slope};
    }
    double total = 0.0;
    for (std::size_t k = 0; k < kBends; ++k) {
      const double weight = exact::exp(power * exact::log(variance_min / variance[k]));
      result.all[i][k].weight = weight;
      total += weight;
    }
    for (std::size_t k = 0; k < kBends; ++k) {
      Hypothesis& h = result.all[i][k];
      h.weight /= total * static_cast<double>(kMemories);
      result.noise += h.weight * variance[k];
      result.slope += h.weight * h.slope;
    }
  }
  result.slope_long = result.all[0][kStraight].slope;
  result.slope_short = result.all[kMemories - 1][kStraight].slope;
  return result;
}

BendBank::Outlook BendBank::outlook(const Posterior& posterior, double distance) {
  double mean = 0.0;
  double square = 0.0;
  // Offsets from one level, so that the variance does not cancel.
  const double origin = posterior.all[0][0].level;
  for (std::size_t k = 0; k < kBends; ++k) {
    const double x = phi(kBendGrid[k], distance);
    for (std::size_t i = 0; i < kMemories; ++i) {
      const Hypothesis& h = posterior.all[i][k];
      const double change = std::max(-kChangeMax, std::min(kRiseMax, h.slope * x));
      const double value = h.level - origin + change;
      mean += h.weight * value;
      square += h.weight * value * value;
    }
  }
  return {origin + mean, std::max(0.0, square - mean * mean)};
}

bool BendBank::all_finite() const {
  bool all = true;
  for (const Memory& m : memories_) {
    all = all && finite(m.weight) && finite(m.weight_squared) && finite(m.r_mean) && finite(m.rr);
    for (const Regression& b : m.bends)
      all = all && finite(b.x_mean) && finite(b.xx) && finite(b.xr);
  }
  return all;
}

}  // namespace laird::estimators
