#include "estimators/model/trend_bank.hpp"

#include <algorithm>
#include <vector>

#include "base/require.hpp"
#include "estimators/bank/runner.hpp"

namespace laird::estimators {

namespace {

// Round numbers of ours. A search over all of them at once (26 constants, 71 sources, each left out
// in turn) gained nothing on the sources left out, so they stay round.
struct Damping {
  double rate;        // kappa, per unit of log-time
  double slope_mean;  // mu: what undamped runs keep doing, and damped ones nearly stop doing
};
constexpr std::array<Damping, kDampings> kDampingGrid = {
    {{0.05, -0.25}, {0.3, -0.2}, {0.9, -0.1}, {2.5, -0.05}}};
struct Wander {
  double slope_noise;
  double level_noise;
};
constexpr std::array<Wander, 4> kWanderGrid = {
    {{0.03, 0.001}, {0.3, 0.01}, {3.0, 0.01}, {0.3, 0.5}}};
constexpr std::array<double, 2> kNoiseFactors = {0.5, 4.0};

constexpr double kShare = 0.02;
constexpr double kSlopeStart = -0.4;
constexpr double kLevelVarianceStart = 0.01;
constexpr double kSlopeVarianceStart = 0.3;
constexpr double kNoiseStart = 1e-3;
constexpr double kNoiseFloor = 1e-5;
constexpr double kNoiseRate = 0.08;
constexpr double kNoiseJump = 25.0;
constexpr double kNoiseJumpFloor = 0.01;

[[nodiscard]] bool finite(double v) { return v - v == 0.0; }

// The sum by halves: the same tree in any number of lanes.
[[nodiscard]] double tree_sum(std::array<double, kTrends> terms) {
  static_assert((kTrends & (kTrends - 1)) == 0);
  for (std::size_t stride = kTrends / 2; stride > 0; stride /= 2) {
    for (std::size_t i = 0; i < stride; ++i) terms[i] += terms[i + stride];
  }
  return terms[0];
}

}  // namespace

const std::array<TrendConstants, kTrends>& trend_grid() {
  static constexpr auto kGrid = [] {
    std::array<TrendConstants, kTrends> grid{};
    std::size_t k = 0;
    for (const Damping& damping : kDampingGrid) {
      for (const Wander& wander : kWanderGrid) {
        for (const double factor : kNoiseFactors) {
          grid[k++] = {damping.rate, damping.slope_mean, wander.level_noise, wander.slope_noise,
                       factor};
        }
      }
    }
    return grid;
  }();
  return kGrid;
}

namespace {

constexpr double kEven = 1.0 / static_cast<double>(kTrends);

[[nodiscard]] const BankKind& trend_kind() {
  static const BankKind kKind = [] {
    std::vector<BankHypothesis> all;
    for (const TrendConstants& c : trend_grid()) {
      all.push_back({c.damping, c.slope_mean, c.level_noise, c.slope_noise, c.noise_factor, kEven});
    }
    auto kind =
        BankKind::make(all, {kSlopeStart, kLevelVarianceStart, kSlopeVarianceStart}, kShare);
    LAIRD_REQUIRE(kind.has_value(), "the grid makes a bank");
    return std::move(*kind);
  }();
  return kKind;
}

// On whatever device computes banks in this process: all give the bits of trend_lane.hpp.
void step_filters(std::array<TrendState, kTrends>& filters, const BankReport& report) {
  std::array<BankTile, kTrends / kBankLanes> tiles;
  for (std::size_t k = 0; k < kTrends; ++k) {
    auto& row = tiles[k / kBankLanes].row;
    const TrendState& f = filters[k];
    const std::array<double, 6> all = {f.level, f.slope, f.p_ll, f.p_ls, f.p_ss, f.weight};
    for (std::size_t i = 0; i < all.size(); ++i) row[i][k % kBankLanes] = all[i];
  }
  bank_step(trend_kind(), tiles, report);
  for (std::size_t k = 0; k < kTrends; ++k) {
    const auto& row = tiles[k / kBankLanes].row;
    const std::size_t i = k % kBankLanes;
    filters[k] = {row[0][i], row[1][i], row[2][i], row[3][i], row[4][i], row[5][i]};
  }
}

}  // namespace

void TrendBank::observe(double step, double r) {
  if (reports_ == 0) {
    for (TrendState& f : filters_) {
      f = {r, kSlopeStart, kLevelVarianceStart, 0.0, kSlopeVarianceStart, kEven};
    }
    noise_ = kNoiseStart;
    r_last_ = r_before_ = r;
    reports_ = 1;
    return;
  }
  if (reports_ >= 2) {
    const double bend = r - 2.0 * r_last_ + r_before_;
    // Three independent reports of variance R make a second difference of variance 6 R.
    const double seen = std::min(bend * bend / 6.0, kNoiseJump * noise_ + kNoiseJumpFloor);
    const double rate = std::max(kNoiseRate, 1.0 / static_cast<double>(reports_));
    noise_ += rate * (seen - noise_);
  }
  r_before_ = r_last_;
  r_last_ = r;
  ++reports_;
  step_filters(filters_, {step, r, noise_ + kNoiseFloor});
}

double TrendBank::level() const {
  std::array<double, kTrends> terms;
  for (std::size_t k = 0; k < kTrends; ++k) terms[k] = filters_[k].weight * filters_[k].level;
  return tree_sum(terms);
}

TrendBank::Summary TrendBank::summary() const {
  Summary s;
  s.origin = level();
  const auto& grid = trend_grid();
  for (std::size_t k = 0; k < kTrends; ++k) {
    const TrendState& f = filters_[k];
    const double level = f.level - s.origin;
    Summary::Group& g = s.groups[k / kTrendsPerDamping];
    g.weight += f.weight;
    g.level += f.weight * level;
    g.slope += f.weight * f.slope;
    g.level_level += f.weight * level * level;
    g.level_slope += f.weight * level * f.slope;
    g.slope_slope += f.weight * f.slope * f.slope;
    g.p_ll += f.weight * f.p_ll;
    g.p_ls += f.weight * f.p_ls;
    g.p_ss += f.weight * f.p_ss;
    g.level_noise += f.weight * grid[k].level_noise;
    g.slope_noise += f.weight * grid[k].slope_noise;
  }
  for (const Summary::Group& g : s.groups) s.slope += g.slope;
  return s;
}

TrendBank::Outlook TrendBank::Summary::outlook(double distance) const {
  double mean = 0.0;
  double square = 0.0;
  double within = 0.0;
  for (std::size_t i = 0; i < kDampings; ++i) {
    const Group& g = groups[i];
    const double kappa = kDampingGrid[i].rate;
    // The map of trend_ahead: level' = level + a slope + b with b the same for the whole group.
    const double x = 1.0 / (1.0 + 0.125 * kappa * distance);
    const double x2 = x * x;
    const double x4 = x2 * x2;
    const double e = x4 * x4;
    const double a = (1.0 - x4 * x2 * x) * 8.0 / (7.0 * kappa);
    const double b = kDampingGrid[i].slope_mean * (distance - a);
    mean += g.level + a * g.slope + b * g.weight;
    square += g.level_level + 2.0 * a * g.level_slope + a * a * g.slope_slope +
              2.0 * b * (g.level + a * g.slope) + b * b * g.weight;
    const double w = g.slope_noise * (1.0 - e * e) / (2.0 * kappa);
    within +=
        g.p_ll + 2.0 * a * g.p_ls + a * a * g.p_ss + g.level_noise * distance + w * a * a / 3.0;
  }
  return {origin + mean, within + std::max(0.0, square - mean * mean)};
}

bool TrendBank::all_finite() const {
  bool all = finite(r_last_) && finite(r_before_) && finite(noise_);
  for (const TrendState& f : filters_) {
    all = all && finite(f.level) && finite(f.slope) && finite(f.p_ll) && finite(f.p_ls) &&
          finite(f.p_ss) && finite(f.weight);
  }
  return all;
}

}  // namespace laird::estimators
