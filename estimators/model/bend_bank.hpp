// A bank of discounted regressions in log-time: how the curve bends, and how much of the past
// counts.
//
// Source: ours. It starts from LaiRA (Wang, Liu, Zhou), eq. 2: ln loss against ln samples. In place
// of one second-order filter there are kMemories x kBends hypotheses:
//     r(t) = level + slope * phi_k(t),   phi_k(t) = (1 - exp(-k t)) / k,   phi_0(t) = t
// Symbols: r ln loss; t log-time before now (negative); k bend (k > 0 flattens: in samples s it is
// the power law with an asymptote, r = a + b s^-k; k < 0 steepens); m memory: a report weighs
// (s_i / s_now)^m, so the window is a fixed *fraction* of the samples seen.
// Each hypothesis is a ridge regression kept as centred moments. Moving "now" by h is the affine
// map x -> x e^(k h) + phi_k(-h) of the regressor, so an update costs O(hypotheses) and nothing is
// stored but the moments. Within a memory, bends are weighted by their (tempered) marginal
// likelihood; memories weigh the same.
// Deterministic to the bit on every machine (base/exact_math only).
#pragma once

#include <array>
#include <cstddef>

#include "base/archive.hpp"

namespace laird::estimators {

inline constexpr std::size_t kMemories = 3;
inline constexpr std::array<double, 9> kBendGrid = {-0.3, -0.15, 0.0, 0.15, 0.3,
                                                    0.5,  0.75,  1.0, 1.4};
inline constexpr std::size_t kBends = kBendGrid.size();

class BendBank {
 public:
  struct Hypothesis {
    double weight = 0.0;
    double level = 0.0;
    double slope = 0.0;
  };
  // What the moments say; taken once, asked at many distances.
  struct Posterior {
    std::array<std::array<Hypothesis, kBends>, kMemories> all{};
    double noise = 0.0;  // variance of the residuals
    double slope = 0.0;  // of the mixture, at the present
    // Of the straight lines of the longest and of the shortest memory.
    double slope_long = 0.0;
    double slope_short = 0.0;
  };
  struct Outlook {
    double mean = 0.0;
    double variance = 0.0;  // of the mixture
  };

  // Moves "now" forward by `step` in log-time: weights fade, regressors keep their meaning.
  void advance(double step);
  // Adds a report made now, with weight 1.
  void add(double r);

  // Where the straight line of the middle memory expects r after `step`: near enough to tell an
  // outlier, and cheap.
  [[nodiscard]] double expected(double step) const;
  // After at least two reports.
  [[nodiscard]] Posterior posterior() const;
  [[nodiscard]] static Outlook outlook(const Posterior& posterior, double distance);

  [[nodiscard]] bool all_finite() const;
  template <class To>
  void tell(To& to) {
    for (Memory& m : memories_) {
      to(m.weight, m.weight_squared, m.r_mean, m.rr);
      for (Regression& b : m.bends) to(b.x_mean, b.xx, b.xr);
    }
  }

 private:
  struct Regression {  // one memory, one bend: centred moments of x = phi_k(t) and r
    double x_mean = 0.0;
    double xx = 0.0;
    double xr = 0.0;
  };
  struct Memory {
    double weight = 0.0;          // sum of weights
    double weight_squared = 0.0;  // sum of squared weights
    double r_mean = 0.0;
    double rr = 0.0;
    std::array<Regression, kBends> bends{};
  };
  std::array<Memory, kMemories> memories_{};
};

}  // namespace laird::estimators
