// Where the first task of an idle mixed fleet goes, when nobody has run anything like it: by the
// planner, which then knows the boards' hardware only, and by bids, which then know nothing.
//
// What is true is drawn apart from what the planner believes (agent/placement/fleet/speeds.hpp):
//   kTable     Nanos, Xavier NX and Orin NX with the times of the MemBatch paper's profiles, each
//              pair of task and module varied by up to 15%.
//   kRoofline  all GPU modules of board_configs. A task takes so much arithmetic, so many bytes and
//              so many steps with a fixed cost each, drawn apart; its time on a board is
//              max(arithmetic / cores x clock, bytes / bandwidth) + steps / CPU clock, and each
//              pair of task and module is up to 30% slower than that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::lab {

enum class Truth : std::uint8_t { kTable, kRoofline };

struct FirstAnyOptions {
  std::uint64_t trials = 400;
  std::uint64_t seed = 1;
};

struct FirstAnyRow {
  std::string truth;
  std::string rule;
  std::uint64_t trials = 0;
  std::uint64_t best = 0;      // the task went to a board on which it ends first, to within 1%
  double slowdown_mean = 0.0;  // its time over that on the best board
  double slowdown_max = 0.0;
};

[[nodiscard]] Result<std::vector<FirstAnyRow>> run_first_any(const FirstAnyOptions& options);
[[nodiscard]] std::string first_any_text(const std::vector<FirstAnyRow>& rows);
[[nodiscard]] json::Value first_any_json(const std::vector<FirstAnyRow>& rows);

}  // namespace laird::lab
