#include "lab/ledger/world/optimum.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

// As response_to of consensus/ledger/demand.hpp, exact to the double.
double response(const consensus::Demand& d, double price) {
  const double urgency = static_cast<double>(d.urgency) / consensus::kUrgencyOne;
  const double miss_price = static_cast<double>(d.miss_price) / consensus::kUrgencyOne;
  const auto want = static_cast<double>(d.want);
  const auto demand = static_cast<double>(d.demand);
  const double above = want + price / urgency;
  const double below = want + (price + miss_price) / urgency;
  return std::clamp(above >= demand ? above : std::min(below, demand), static_cast<double>(d.floor),
                    static_cast<double>(d.cap));
}

std::vector<consensus::Demand> all_in_range(std::vector<consensus::Demand> demands) {
  for (consensus::Demand& d : demands) d = consensus::in_range(d);
  return demands;
}

}  // namespace

double cost_of(const std::vector<consensus::Demand>& demands, const std::vector<double>& shares) {
  double sum = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    sum += consensus::cost_of(demands[i], shares[i]);
  }
  return sum;
}

Optimum optimum_of(const std::vector<consensus::Demand>& given, double whole) {
  const std::vector<consensus::Demand> demands = all_in_range(given);
  double low = -1e18;
  double high = 1e18;
  for (int k = 0; k < 200; ++k) {
    const double mid = 0.5 * (low + high);
    double sum = 0;
    for (const consensus::Demand& d : demands) sum += response(d, mid);
    (sum > whole ? high : low) = mid;
  }
  Optimum out;
  out.price = 0.5 * (low + high);
  for (const consensus::Demand& d : demands) out.shares.push_back(response(d, out.price));
  out.cost = cost_of(demands, out.shares);
  return out;
}

}  // namespace laird::lab
