// Prices and grants: how shares move to where they are needed most. docs/ledger.md, "Price and
// grant".
//
// Source: equation (30) of the co-optimization paper with Hessian-scaled weights; box constraints
// by best response instead of the paper's penalty. Symbols: h holding, d demand, a urgency, [floor,
// cap] the box; m the mean price of the neighbours; lambda the price; theta the step (permille in
// the configuration).
//   x*(m)  = clip(d + m/a, floor, cap)          what this board would take at the price m
//   lambda = m + a (h - x*(m))                  inside the box this is a (h - d)
//   flow   = theta (lambda_i - lambda_j) / (max(deg_i, deg_j) (a_i + a_j)), downhill only
// A board at its cap thus quotes its neighbours' price plus a times its surplus, and so passes
// shares on without a multiplier that would have to be integrated up. Both ends see the price of
// the other late; each corrects it by what it has granted since (a_j times the grants that the
// price cannot reflect yet). Where the whole is more than all caps together no price balances, and
// each round would add the surplus to everybody's price. So m is limited to twice the highest price
// that a board inside its box can quote; otherwise a fleet that was idle for a night would need as
// long to find its prices.
#include <algorithm>

#include "consensus/ledger/ledger.hpp"
#include "consensus/quantizer.hpp"

namespace laird::consensus {
namespace {

// The limit of m, in units of the whole times the greatest urgency among this board and its
// neighbours. A board inside its box quotes at most one whole times its own urgency.
constexpr Wide kPriceCeiling = 2;

std::int64_t predicted_price(const Edge& e, std::size_t r) {
  return bounded(e.price[r] + static_cast<Wide>(e.urgency[r]) * (e.sent[r] - e.reflected[r]));
}

bool priced(const Edge& e) {
  return !e.closing && !e.peer_dead && e.price_seq != 0 && e.degree != 0;
}

}  // namespace

// A board that leaves wants nothing and keeps nothing back.
Demand Ledger::demand_of(std::size_t r) const {
  if (!leaving_) return demand_[r];
  Demand none = demand_[r];
  none.demand = none.floor = none.cap = 0;
  return none;
}

Prices Ledger::prices() const {
  const Shares held = holding();
  Prices out{};
  for (std::size_t r = 0; r < kResources; ++r) {
    const Demand d = demand_of(r);
    const Wide a = d.urgency;
    Wide sum = 0;
    Wide urgency_most = a;
    std::int64_t count = 0;
    for (const Edge& e : edges_) {
      if (!priced(e)) continue;
      sum += predicted_price(e, r);
      urgency_most = std::max<Wide>(urgency_most, e.urgency[r]);
      ++count;
    }
    const Wide ceiling = kPriceCeiling * urgency_most * kWhole;
    const std::int64_t mean =
        bounded(count == 0 ? a * (held[r] - d.demand) : std::min(sum / count, ceiling));
    const Parts best = std::clamp(d.demand + mean / d.urgency, d.floor, d.cap);
    out[r] = bounded(best == d.floor || best == d.cap ? mean + a * (held[r] - best)
                                                      : a * (held[r] - d.demand));
  }
  return out;
}

// Moving x from i to j lowers lambda_i by a_i x and raises lambda_j by a_j x: they meet at
// x = |lambda_i - lambda_j| / (a_i + a_j). Prices above zero count as zero: they say only that a
// board has all it wants, and how large the surplus is does not matter.
std::optional<Parts> Ledger::disagreement(std::size_t resource) const {
  const auto lack = [](std::int64_t price) { return std::min<Wide>(price, 0); };
  const Wide own = lack(prices()[resource]);
  std::optional<Parts> most;
  for (const Edge& e : edges_) {
    if (!priced(e)) continue;
    const Wide gap = own - lack(predicted_price(e, resource));
    const Wide meets = (gap < 0 ? -gap : gap) / (demand_of(resource).urgency + e.urgency[resource]);
    most = std::max(most.value_or(0), static_cast<Parts>(std::min<Wide>(meets, kWhole)));
  }
  return most;
}

void Ledger::grant() {
  for (std::size_t r = 0; r < kResources; ++r) grant_resource(r);
}

void Ledger::grant_resource(std::size_t r) {
  const Parts spare = holding()[r] - demand_of(r).floor;
  if (spare <= 0) return;
  const std::int64_t own = prices()[r];
  const Wide own_urgency = demand_of(r).urgency;
  const Wide own_degree = degree();
  std::array<Parts, kEdgesMax> flow{};
  Wide total = 0;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& e = edges_[i];
    if (!priced(e)) continue;
    const Wide drop = static_cast<Wide>(own) - predicted_price(e, r);
    if (drop <= 0) continue;
    const Wide share = std::max<Wide>(own_degree, e.degree) * (own_urgency + e.urgency[r]) * 1000;
    flow[i] = static_cast<Parts>(std::min<Wide>(drop * config_.theta_permille / share, kWhole));
    total += flow[i];
  }
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (flow[i] == 0) continue;
    const Parts fair =
        total <= spare ? flow[i] : static_cast<Parts>(static_cast<Wide>(flow[i]) * spare / total);
    // A neighbour does not count what would be too much over one edge.
    const Parts room = edge_limit(degree()) - (edges_[i].sent[r] - edges_[i].heard[r]);
    edges_[i].sent[r] += flow_floor(std::min(fair, std::max<Parts>(room, 0)));
  }
}

}  // namespace laird::consensus
