#include "lab/ledger/world/optimum.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

double urgency(const consensus::Demand& d) {
  return static_cast<double>(d.urgency) / consensus::kUrgencyOne;
}

double response(const consensus::Demand& d, double price) {
  return std::clamp(static_cast<double>(d.demand) + price / urgency(d),
                    static_cast<double>(d.floor), static_cast<double>(d.cap));
}

}  // namespace

double cost_of(const std::vector<consensus::Demand>& demands, const std::vector<double>& shares) {
  double sum = 0;
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const double miss = shares[i] - static_cast<double>(demands[i].demand);
    sum += 0.5 * urgency(demands[i]) * miss * miss;
  }
  return sum;
}

Optimum optimum_of(const std::vector<consensus::Demand>& demands, double whole) {
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
