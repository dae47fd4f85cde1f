// The watts study as one self-contained page.
#pragma once

#include <string>
#include <vector>

#include "lab/watts/study.hpp"

namespace laird::lab {

// One run of each strategy, drawn over time.
struct WattsTrace {
  Strategy strategy = Strategy::kOurs;
  WattsResult result;
};

[[nodiscard]] std::string watts_page(const std::vector<WattsTable>& tables, double budget_w,
                                     const std::vector<WattsTrace>& traces);

}  // namespace laird::lab
