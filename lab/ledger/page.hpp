// Writes a page that draws the convergence, the budget use and the message cost of traced runs: one
// file, without scripts.
#pragma once

#include <string>
#include <vector>

#include "lab/ledger/convergence.hpp"

namespace laird::lab {

[[nodiscard]] std::string ledger_page(const ConvergenceConfig& config,
                                      const std::vector<ConvergenceResult>& runs);

// Draws several series over their index in one chart. With `log_scale` it draws the decimal
// exponents and leaves out values at or below zero.
[[nodiscard]] std::string line_chart(const std::string& title,
                                     const std::vector<std::vector<double>>& series,
                                     const std::string& y_unit, bool log_scale);

}  // namespace laird::lab
