#include "consensus/credit.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// Edges for which the allowance suffices. The neighbour graph gives eight; the others are for edges
// that were opened in place of lost ones or will be closed soon.
constexpr std::size_t kTiesAllowed = 10;
constexpr std::size_t kSmallFleet = 8;

}  // namespace

std::size_t rounded_fleet(std::size_t living) {
  if (living <= kSmallFleet) return std::max<std::size_t>(living, 2);
  std::size_t power = kSmallFleet;
  while (power * 2 < living) power *= 2;
  return living <= power / 2 * 3 ? power / 2 * 3 : power * 2;
}

Parts tie_limit(std::size_t living) { return kWhole / static_cast<Parts>(rounded_fleet(living)); }

Parts allowance(std::size_t living) {
  const auto n = static_cast<Parts>(rounded_fleet(living));
  return std::min(kWhole, kWhole / n * static_cast<Parts>(kTiesAllowed));
}

Parts credit_used(const Register& value, NodeId node) {
  Wide used = value.debt_of(node);
  for (const Entry& e : value.entries) {
    if (e.account.node != node) continue;
    Parts debt = 0;
    for (const Parts base : e.base) debt = std::max(debt, -base);
    used += debt;
    for (const Tie& t : e.ties) used += t.limit;
  }
  return bounded(used);
}

}  // namespace laird::consensus
