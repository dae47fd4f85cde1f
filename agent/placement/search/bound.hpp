// A makespan that no plan can beat, with the prices that prove it.
//
// Source: the Lagrangian dual of the linear relaxation, max over prices z >= 0 with sum z = 1 of
//     f(z) = sum over tasks of min over groups g of sum over rows r of z_gr a_tgr
// solved by multiplicative weights (Arora, Hazan, Kale, 2012) with Polyak's step towards a target
// that sinks while nothing improves. Any z proves its f(z), so stopping early is safe.
// Symbols: a_tgr seconds of row r per board of group g that task t takes (rows.hpp); z prices.
// Three things are added to f:
//  - closed windows: the smallest C with sum z_gr open_g(C) >= f(z), open_g(C) the seconds before C
//    in which the boards of g are open;
//  - a pair that takes longer than C is not in a plan of makespan C (Lenstra, Shmoys, Tardos,
//  1990):
//    with the pairs above T left out, f > T proves C > T;
//  - no plan ends before the task that ends last when each has the fleet to itself.
// Deviation: f is a sum of doubles; the bound is taken a billionth below it.
#pragma once

#include <vector>

#include "agent/placement/search/rows.hpp"

namespace laird::placement {

struct Bound {
  Seconds bound_s = 0;
  std::vector<double> prices;  // by group, then row; they sum to 1
  std::vector<double> shares;  // by task, then group: how much of the task a fractional plan puts
                               // there; they sum to 1 over the groups
};

// `iterations_max` bounds the work: each costs tasks x groups x rows.
[[nodiscard]] Bound lower_bound(const Instance& instance, const Rows& rows, int iterations_max);
// As many iterations as are worth while for a search of about a second.
[[nodiscard]] int bound_iterations(const Instance& instance, const Rows& rows);

}  // namespace laird::placement
