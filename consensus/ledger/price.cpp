// Prices and grants: how shares move to where they are needed most. docs/ledger.md, "Price and
// grant".
//
// Source: equation (30) of the co-optimization paper with Hessian-scaled weights; the box and the
// kink of the cost (consensus/ledger/demand.hpp) by best response instead of the paper's penalty.
// Symbols: h holding, f the cost, a urgency (the slope of f' wherever it has one), [floor, cap] the
// box; m the mean price of the neighbours; lambda the price; theta the step (permille in the
// configuration).
//   x*(m)  = the x in [floor, cap] with f'(x) = m       what this board would take at the price m
//   lambda = m + g a (h - x*(m)),  g = 1 where m moves x*, 2 where x* is stuck
//   flow   = theta (lambda_i - lambda_j) / (max(deg_i, deg_j) (a_i + a_j)), downhill only
// f' has the slope a on both sides of the kink, so where m moves x* the price does not depend on m:
// it is f' continued from that side, a (h - want) above the demand and a (h - want) - p below it.
// At a bound, and at the kink for all m between the prices of its two sides, x* stays where it is:
// the board quotes its neighbours' price plus what it has too much, and so passes shares on without
// a multiplier that would have to be integrated up. There g = 2: the price of the board does not
// help to end the surplus as it does elsewhere, so twice the difference makes the neighbours, whose
// slopes are about as large, take theta of all of it in one round. lambda is continuous in h and in
// m, and one slope serves both tiers, so neither the step nor what peers know of it changes at the
// kink. Both
// ends see the price of the other late; each corrects it by what it has granted since (a_j times
// the grants that the price cannot reflect yet). Where the whole is more than all caps together, or
// less than all floors, no price balances, and each round would add the difference to everybody's
// price. So m is limited to twice the highest and the lowest price that a board inside its box can
// quote; otherwise a fleet that was idle for a night would need as long to find its prices.
#include <algorithm>

#include "consensus/credit.hpp"
#include "consensus/ledger/ledger.hpp"
#include "consensus/quantizer.hpp"

namespace laird::consensus {
namespace {

// The limit of m, in units of the whole times the greatest urgency among this board and its
// neighbours. A board inside its box quotes at most one whole times its own urgency.
constexpr Wide kPriceCeiling = 2;
constexpr Wide kPriceBottom = 2;
constexpr Wide kStuckGain = 2;

// So many edges at once may stand still only because others need their credit.
constexpr int kUnusedFrozenMax = 2;

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
  none.demand = none.want = none.floor = none.cap = 0;
  none.miss_price = 0;
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
    const Wide bottom = -kPriceBottom * (urgency_most * kWhole + kMissPriceMax);
    const std::int64_t mean =
        bounded(count == 0 ? a * (held[r] - d.want) : std::clamp(sum / count, bottom, ceiling));
    const Response wish = response_to(d, mean);
    out[r] = bounded(wish.stuck ? mean + kStuckGain * a * (held[r] - wish.best)
                                : a * held[r] - wish.offset);
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
  std::vector<const Edge*> wanted;
  bool lacks_credit = false;
  for (std::size_t r = 0; r < kResources; ++r) lacks_credit |= grant_resource(r, wanted);
  if (lacks_credit) free_credit(wanted);
}

// The limits of this end make only so much together. If a wanted edge has less than it could use,
// the edge that needs least of what it has is renewed: the register divides that anew.
void Ledger::free_credit(const std::vector<const Edge*>& wanted) {
  const Parts much = tie_limit(living_) / 4;
  Edge* least = nullptr;
  Parts most_unused = much;
  int waiting = 0;
  for (Edge& e : edges_) {
    if (e.closing || e.peer_dead) continue;
    const Parts unused = e.limit - e.given_most();
    if (e.frozen) waiting += unused > much ? 1 : 0;
    const bool free = !e.frozen && std::find(wanted.begin(), wanted.end(), &e) == wanted.end();
    if (!free || unused <= most_unused) continue;
    most_unused = unused;
    least = &e;
  }
  if (least != nullptr && waiting < kUnusedFrozenMax) least->frozen = true;
}

// True if an edge has less credit than it could use, and than it could have.
bool Ledger::grant_resource(std::size_t r, std::vector<const Edge*>& wanted) {
  const Parts spare = holding()[r] - demand_of(r).floor;
  if (spare <= 0) return false;
  bool lacks_credit = false;
  const std::int64_t own = prices()[r];
  const Wide own_urgency = demand_of(r).urgency;
  const Wide own_degree = degree();
  std::array<Parts, kEdgesMax> flow{};
  Wide total = 0;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const Edge& e = edges_[i];
    if (!priced(e) || e.frozen) continue;
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
    Edge& e = edges_[i];
    wanted.push_back(&e);
    // The neighbour counts nothing beyond the limit of this end.
    const Parts given = e.sent[r] - e.heard[r];
    const Parts room = std::max<Parts>(e.limit - given, 0);
    e.sent[r] += flow_floor(std::min(fair, room));
    // What went over the edge is entered in the register, so that both ends begin with new limits.
    // Small amounts are not worth a version.
    e.frozen |= fair > room && given > tie_limit(living_) / 8;
    lacks_credit |= fair > room && e.limit < tie_limit(living_);
  }
  return lacks_credit;
}

}  // namespace laird::consensus
