// What a task promises: the probability that its target is ever reached, and how much work that
// takes if it is.
//
// Source: ours. The forecaster (estimators/model/forecaster.hpp) says how likely the target is
// touched by a sample count; asked at kNeedParts of the way that is left, its answers are the
// distribution of the need. The way ends where the author planned, or, when nobody did, where the
// lane could be at the deadline.
#pragma once

#include <array>
#include <cstddef>

#include "agent/core/state/task.hpp"

namespace laird::placement {

// Parts of the way left within which the need may lie.
inline constexpr std::array<double, 16> kNeedParts = {0.005, 0.01, 0.02, 0.035, 0.05, 0.07,
                                                      0.10,  0.14, 0.19, 0.25,  0.32, 0.40,
                                                      0.50,  0.60, 0.80, 1.00};

struct Prospect {
  double reach = 0.0;   // probability that the target is touched on the way
  double length = 0.0;  // of the way left, in samples
  // Given that it is touched: the probability that it is within that part of the way.
  std::array<double, kNeedParts.size()> within{};

  // Further samples that suffice with probability u, given that the target is reached.
  [[nodiscard]] double need_quantile(double u) const;
  // The probability that so many further samples suffice, given that the target is reached: the
  // other way round. What lies beyond the last part of the length lies at its end.
  [[nodiscard]] double within_samples(double samples) const;
};

// Of a task with at least one report; `speed` is in samples per second with the whole lane.
[[nodiscard]] Prospect prospect_of(const core::Task& task, double speed);

}  // namespace laird::placement
