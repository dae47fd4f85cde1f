// Bundles of tasks made of real learning curves, and the most of them anybody could finish.
//
// A bundle is 10 different curves of at most 500 points. All tasks start at 0; a deadline is
// uniform in 500..1600 units; a whole curve alone takes 250..900 units, uniform. With probability
// 0.7 the target is the running minimum at a point uniform in 15..70% of the curve; else it is the
// final running minimum times a factor uniform in 0.75..0.98, which the curve never reaches.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/forecast/curves.hpp"
#include "lab/simulator/curve_board.hpp"
#include "lab/simulator/random.hpp"

namespace laird::lab {

inline constexpr std::size_t kBundleTasks = 10;

struct BundleSetting {
  bool planned_length_known = true;
  // The trace of an earlier run of each curve's task, where there is one; empty: nothing is known.
  std::vector<estimators::Trace> earlier;
  double arrivals_until_units = 0.0;  // tasks arrive uniformly in 0..this; 0: all at the start
};

// What a bundle draws for one curve.
struct BundleDraw {
  double deadline_units = 0.0;
  double duration_units = 0.0;
  double target_loss = 0.0;
};
[[nodiscard]] BundleDraw draw_task(const Curve& curve, Random& random);

// `curves` outlive the bundle and are at least kBundleTasks.
[[nodiscard]] std::vector<SimulatedTask> draw_bundle(const std::vector<Curve>& curves,
                                                     const BundleSetting& setting,
                                                     std::uint64_t seed);

// The most tasks that can meet their deadlines on one lane when every need is known and all could
// start at 0; with arrivals, which it leaves out, an upper bound. Source: Moore (1968), the
// algorithm of Hodgson: in order of deadlines, and whenever one would be late, the longest so far
// is left out.
[[nodiscard]] std::size_t most_on_time(const std::vector<SimulatedTask>& tasks);

}  // namespace laird::lab
