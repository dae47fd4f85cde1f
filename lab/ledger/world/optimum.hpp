// The centralized optimum with which the ledger is compared: it minimises the sum of the costs of
// consensus/ledger/demand.hpp over floor_i <= x_i <= cap_i with sum x_i = whole, by bisection on
// the price.
#pragma once

#include <vector>

#include "consensus/ledger/demand.hpp"

namespace laird::lab {

struct Optimum {
  double price = 0.0;
  double cost = 0.0;
  std::vector<double> shares;  // in parts
};

// Requires sum of floors <= whole <= sum of caps.
[[nodiscard]] Optimum optimum_of(const std::vector<consensus::Demand>& demands, double whole);
// The sum of the costs, in units of urgency * parts^2 / kWhole.
[[nodiscard]] double cost_of(const std::vector<consensus::Demand>& demands,
                             const std::vector<double>& shares);

}  // namespace laird::lab
