// What one earlier run of the same task is worth: runs of a group are forecast with and without
// another run of their group, and with the run of another task that somebody took for theirs.
//
// Protocol: from the first 1% of the points, four at least, the last point of each run that is in a
// group of two or more; its earlier run is the next of its group, its misleading one the first of
// the next group. Answers are medians of |ln(forecast / true)|.
#pragma once

#include <string>
#include <vector>

#include "estimators/model/trace.hpp"
#include "lab/forecast/curves.hpp"

namespace laird::lab {

struct MemoryScore {
  std::size_t groups = 0;
  std::size_t runs = 0;
  double ln_error_alone = 0.0;
  double ln_error_with_one = 0.0;
  double ln_error_misled = 0.0;
  double ln_error_at_start = 0.0;  // before the first report, with one
  double coverage_with_one = 0.0;  // of the 90% band
};

[[nodiscard]] MemoryScore score_memory(const std::vector<Curve>& curves);

// The index of another run of each curve's group; its own where there is none.
[[nodiscard]] std::vector<std::size_t> earlier_runs(const std::vector<Curve>& curves);

// The curve as the board keeps it when a run has ended.
[[nodiscard]] estimators::Trace trace_of(const Curve& curve);

}  // namespace laird::lab
