#include "consensus/credit.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// Below a half of an equal share fleets need more ticks to find their optimum, and so they do if
// the allowance is below two equal shares: an equal share and the two limits of one edge
// (docs/ledger.md, "Measured"). Three boards cannot outvote a liar, so they need not wait either.
constexpr std::size_t kUnguardedFleet = 3;
constexpr Parts limits_in_a_share(std::size_t living) { return living <= kUnguardedFleet ? 1 : 2; }
constexpr Parts kSharesAllowed = 2;
constexpr Parts kStepsInALimit = 8;
constexpr std::size_t kSmallFleet = 8;

}  // namespace

std::size_t rounded_fleet(std::size_t living) {
  if (living <= kSmallFleet) return std::max<std::size_t>(living, 2);
  std::size_t power = kSmallFleet;
  while (power * 2 < living) power *= 2;
  return living <= power / 2 * 3 ? power / 2 * 3 : power * 2;
}

Parts tie_limit(std::size_t living) {
  return kWhole / static_cast<Parts>(rounded_fleet(living)) / limits_in_a_share(living);
}

// In a small fleet all edges of a node do not make two shares.
Parts allowance(std::size_t living) {
  const auto n = static_cast<Parts>(std::max<std::size_t>(living, 2));
  return std::min(kSharesAllowed * (kWhole / n),
                  (n - 1) * (kWhole / n / limits_in_a_share(living)));
}

Parts even_limit(std::size_t living, Parts credit, std::size_t ties) {
  if (ties == 0 || credit <= 0) return 0;
  const Parts most = tie_limit(living);
  const Parts step = most / kStepsInALimit;
  const Parts even = credit / static_cast<Parts>(ties);
  return even >= most ? most : even / step * step;
}

Parts credit_used(const Register& value, NodeId node) {
  Wide used = value.debt_of(node);
  for (const Entry& e : value.entries) {
    if (e.account.node != node) continue;
    const Parts least = *std::min_element(e.base.begin(), e.base.end());
    // What a dead account leaves is for its heirs.
    used -= e.dead ? std::min<Parts>(least, 0) : least;
    for (const Tie& t : e.ties) used += t.limit;
  }
  return bounded(used);
}

}  // namespace laird::consensus
