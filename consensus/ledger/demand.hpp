// What one board asks of one resource, and what it is worth: the whole cost function of the ledger.
//
// Source: the strictly convex local costs f_i of the co-optimization paper (Doostmohammadian et al.
// 2025, problem 1). Ours is
//     f(x) = a/2 (want - x)^2 + p max(0, demand - x)        on the box [floor, cap]
// Symbols: x share in parts; a urgency, dimensionless, kUrgencyOne = 1; want, demand, floor and cap
// in parts; p the price of a part that the deadlines miss, in units of kUrgencyOne * parts.
//
// There are three kinds of wishes, and one comes before the next:
//  1. floor: what the board draws even when nothing runs, or when its tasks run as slowly as they
//     can be made to. It is never given away.
//  2. demand: with this the tasks meet their deadlines, with a margin. Each part below it costs p
//     beside the quadratic term. p is higher the more success a part buys (below).
//  3. want: what the board's lanes can use now. Between demand and want a part only ends work
//     sooner, and its price is a (want - x). Above want a part is of no use.
// The slope is a = kPriceWhole / (want - floor), so a (want - x) runs from kPriceWhole down to 0 on
// every board, however large it is: boards that share a shortage run at the same part of their
// speed. p is chosen such that the price of a part below the demand is at least kPriceWhole. So no
// part goes to the third kind of wish anywhere before all demands are met, and the whole budget is
// used as long as anybody can use it.
//
// The price of a deadline. What is short is not power but energy, so a task is the more worth
// serving the more (weighted, expected) success comes out of the energy that it still takes:
//     p = a (demand - floor) + step * octaves,     octaves = log2(success / work)
// where work is counted in budgets times seconds. A board whose parts buy twice as much success has
// a price that is higher by one step, an eighth of kPriceWhole. A shortage thus falls first on
// the tasks that buy least. With larger steps more boards would be at one end of their demand and
// fewer would set the price, which then takes longer to find (docs/ledger.md).
//
// Demand of several tasks on one lane: the least constant speed with which, run in the order of
// their deadlines, all of them are in time (Yao, Demers and Shenker 1995):
//     max over deadlines t of (sum of the work due by t) / t, at most the whole lane.
// Deviations from the paper: f has a kink at demand; consensus/ledger/price.cpp handles it like the
// ends of the box. Everything is an integer.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "consensus/limits.hpp"

namespace laird::consensus {

// The highest price of a part that only ends work sooner.
inline constexpr std::int64_t kPriceWhole = kUrgencyOne * kWhole / 16;
inline constexpr std::int64_t kMissPriceMax = 4 * kPriceWhole;

struct Demand {
  Parts demand = 0;
  Parts floor = 0;  // the board never grants below this
  Parts cap = kWhole;
  std::uint16_t urgency = kUrgencyOne;
  Parts want = 0;               // at least the demand: a smaller number means the demand
  std::int64_t miss_price = 0;  // of a part below the demand, beside the quadratic term

  bool operator==(const Demand&) const = default;
  void archive(Archive& ar);
};

// The demand with every number in its range: floor <= cap <= whole, demand <= want, urgency >= 1.
[[nodiscard]] Demand in_range(Demand demand);

// What a board would take at a price, and how its own price follows from what it holds.
struct Response {
  Parts best = 0;
  // The price does not move `best`: it is at an end of the box or at the kink of the cost.
  bool stuck = false;
  std::int64_t offset = 0;  // where not stuck: the marginal cost of x is urgency * x - offset
};
[[nodiscard]] Response response_to(const Demand& demand, std::int64_t price);

// A task that may still meet its deadline.
struct TaskNeed {
  std::size_t lane = 0;           // tasks of one lane take turns on it
  Parts full = 0;                 // what the lane takes of the resource while a task runs
  DurationNs busy = 0;            // of the lane at full speed, with a margin
  DurationNs left = 0;            // to the deadline
  std::uint32_t success_ppm = 0;  // the probability that it makes it with that
  std::uint32_t weight_milli = 1000;
};

struct BoardLimits {
  // What the board takes when nothing runs, and what it takes at least with the tasks that it has,
  // each less what is reserved for it anyway.
  Parts idle = 0;
  Parts least = 0;
  Parts want = 0;  // idle and what the lanes that have a task can use
  Parts cap = kWhole;
};

// The board's demand from its tasks. A task that has no chance at all need not be among them.
[[nodiscard]] Demand demand_from(const std::vector<TaskNeed>& tasks, const BoardLimits& limits);

// The cost in units of urgency * parts^2 / kWhole, for reports and tests; never for a decision.
[[nodiscard]] double cost_of(const Demand& demand, double share);

}  // namespace laird::consensus
