// The robustness study as one self-contained page: the paper's Figure 1 redrawn, its Table 1 beside
// ours, and who ran when with the printed and the corrected normalisation.
#pragma once

#include <string>
#include <vector>

#include "lab/robustness/study.hpp"

namespace laird::lab {

struct RobustnessLoad {
  std::size_t tasks = 0;
  std::vector<StrategyScore> strategies;
};

// `loads` ascending by tasks; the last is the table.
[[nodiscard]] std::string robustness_page(const std::vector<RobustnessLoad>& loads,
                                          const RobustnessSetting& setting);

}  // namespace laird::lab
