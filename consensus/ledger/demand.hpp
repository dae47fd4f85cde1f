// How much of one resource a board wants, and how urgently: the whole cost function of the ledger.
//
// Source: the strictly convex local costs f_i of the co-optimization paper (Doostmohammadian et al.
// 2025, problem 1), here f_i(x) = a_i/2 (x - d_i)^2 on the box [floor_i, cap_i].
// Symbols: x share in parts; d demand in parts; a urgency, dimensionless, kUrgencyOne = 1.
//
// The demand is the share with which the board's feasible tasks just meet their deadlines: each
// task that can still meet its deadline needs work/time of the whole budget, and the needs add up.
// If every demand is met the cost is zero. If the fleet is short, the marginal costs a_i (d_i -
// x_i) become equal, so a board of urgency 2 gives up half as much as a board of urgency 1. The
// urgency of a task follows from its slack, the time left over the time needed at full speed: a
// task of slack 1 cannot wait and has urgency 10, a task of slack 10 or more has urgency 1. A
// board's urgency is the mean over its tasks, weighted by their needs. A board with no feasible
// task wants only its floor, at the lowest urgency.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "consensus/limits.hpp"

namespace laird::consensus {

struct Demand {
  Parts demand = 0;
  Parts floor = 0;  // the board never grants below this
  Parts cap = kWhole;
  std::uint16_t urgency = kUrgencyOne;

  bool operator==(const Demand&) const = default;
  void archive(Archive& ar) { ar(demand, floor, cap, urgency); }
};

// A task that can still meet its deadline according to its forecast. Work is counted in parts times
// seconds: a board that holds w parts for one second does w of it.
struct TaskNeed {
  std::int64_t work_parts_seconds = 0;
  DurationNs time_left = 0;
  // The soonest the task could finish on this board with all it can use.
  DurationNs time_at_full_speed = 0;
};

struct BoardLimits {
  Parts floor = 0;
  Parts cap = kWhole;
};

// The board's demand from its feasible tasks. Infeasible tasks (time_left below
// time_at_full_speed) must have been left out; one that is passed in counts as due now.
[[nodiscard]] Demand demand_from(const std::vector<TaskNeed>& tasks, const BoardLimits& limits);

// The cost in units of urgency * parts^2 / kWhole, for reports and tests; never for a decision.
[[nodiscard]] double cost_of(const Demand& demand, Parts share);

}  // namespace laird::consensus
