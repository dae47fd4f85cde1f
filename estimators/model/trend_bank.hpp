// A bank of damped trend filters: hypotheses of how fast a slope dies out, how much it wanders and
// how noisy the reports are, weighted by how well each foretold the reports so far.
//
// Source: the filter is trend_lane.hpp. The weights are Bayesian with a fixed share (Herbster and
// Warmuth 1998): after every report a part kShare of the weight is dealt out anew, so that a bank
// that was sure can change its mind when the curve does (a plateau, a collapse, a new level):
//     w_i <- (1 - kShare) w_i / sum w + kShare / K
// The observation noise R is the curve's own, from the second differences of its reports, each
// held to kNoiseJump of what is known so that one outlier does not blow it up.
// Sums run over a fixed tree, so that any engine can take them in any number of lanes.
// Deterministic to the bit on every machine. 1.6 KB, no heap.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/archive.hpp"
#include "estimators/model/trend_lane.hpp"

namespace laird::estimators {

inline constexpr std::size_t kDampings = 4;
inline constexpr std::size_t kTrendsPerDamping = 8;
inline constexpr std::size_t kTrends = kDampings * kTrendsPerDamping;
[[nodiscard]] const std::array<TrendConstants, kTrends>& trend_grid();

class TrendBank {
 public:
  // Where the bank sees r at one log-distance.
  struct Outlook {
    double mean = 0.0;
    double variance = 0.0;  // within the filters and between them
  };
  // The filters summed up by damping, since a step moves all of one damping by the same map: taken
  // once, asked at many distances.
  struct Summary {
    struct Group {
      double weight = 0.0;
      double level = 0.0;  // sums over the group, levels as offsets from `origin`
      double slope = 0.0;
      double level_level = 0.0;
      double level_slope = 0.0;
      double slope_slope = 0.0;
      double p_ll = 0.0;
      double p_ls = 0.0;
      double p_ss = 0.0;
      double level_noise = 0.0;
      double slope_noise = 0.0;
    };
    double origin = 0.0;
    double slope = 0.0;  // of the mixture, now
    std::array<Group, kDampings> groups{};
    [[nodiscard]] Outlook outlook(double distance) const;
  };

  [[nodiscard]] std::uint64_t reports() const { return reports_; }
  // The variance of the reports about the curve.
  [[nodiscard]] double noise() const { return noise_; }
  // `step` in log-time since the last report; ignored for the first one.
  void observe(double step, double r);
  [[nodiscard]] Summary summary() const;
  // What the bank takes for ln loss now, freed of noise.
  [[nodiscard]] double level() const;

  [[nodiscard]] bool all_finite() const;
  template <class To>
  void tell(To& to) {
    to(reports_, r_last_, r_before_, noise_);
    for (TrendState& f : filters_) to(f.level, f.slope, f.p_ll, f.p_ls, f.p_ss, f.weight);
  }

 private:
  std::uint64_t reports_ = 0;
  double r_last_ = 0.0;
  double r_before_ = 0.0;
  double noise_ = 0.0;
  std::array<TrendState, kTrends> filters_{};
};

}  // namespace laird::estimators
