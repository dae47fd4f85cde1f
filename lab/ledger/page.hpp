// A page that draws convergence, budget use and message cost of traced runs; no scripts, one file.
#pragma once

#include <string>
#include <vector>

#include "lab/ledger/convergence.hpp"

namespace laird::lab {

[[nodiscard]] std::string ledger_page(const ConvergenceConfig& config,
                                      const std::vector<ConvergenceResult>& runs);

// One SVG line chart of several series over their index; values at or below zero are left out when
// `log_scale`.
[[nodiscard]] std::string line_chart(const std::string& title,
                                     const std::vector<std::vector<double>>& series,
                                     bool log_scale);

}  // namespace laird::lab
