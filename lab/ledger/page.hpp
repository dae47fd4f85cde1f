// A page that draws convergence, budget use and message cost of traced runs; no scripts, one file.
#pragma once

#include <string>
#include <vector>

#include "lab/ledger/convergence.hpp"

namespace laird::lab {

[[nodiscard]] std::string ledger_page(const ConvergenceConfig& config,
                                      const std::vector<ConvergenceResult>& runs);

// One line chart of several series over their index; values at or below zero are left out when
// `log_scale`, which draws the exponent.
[[nodiscard]] std::string line_chart(const std::string& title,
                                     const std::vector<std::vector<double>>& series,
                                     const std::string& y_unit, bool log_scale);

}  // namespace laird::lab
