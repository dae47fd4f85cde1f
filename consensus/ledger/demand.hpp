// What a board wants of one resource, and how badly: the cost function of the ledger, all of it.
//
// Source: the strictly convex local costs f_i of the co-optimization paper (Doostmohammadian et al.
// 2025, problem 1), here f_i(x) = a_i/2 (x - d_i)^2 on the box [floor_i, cap_i].
// Symbols: x share in parts; d demand in parts; a urgency, dimensionless, kUrgencyOne = 1.
//
// Demand is the share with which the board's feasible tasks just meet their deadlines: each task
// that can still meet its deadline needs work/time of the whole budget, and the needs add up. With
// every demand met the cost is zero; when the fleet is short, the marginal costs a_i (d_i - x_i)
// even out, so a board of urgency 2 gives up half as much as one of urgency 1.
// Urgency grows with the share of the demand that is due soon: slack s = time left / time needed at
// full need; a task of slack 1 cannot wait at all, one of slack 10 can.
// A board with no feasible task wants nothing but its floor, at the lowest urgency.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "consensus/limits.hpp"

namespace laird::consensus {

struct Demand {
  Parts demand = 0;
  Parts floor = 0;  // kept whatever the price; at most what is held
  Parts cap = kWhole;
  std::uint16_t urgency = kUrgencyOne;

  bool operator==(const Demand&) const = default;
  void archive(Archive& ar) {
    ar(demand);
    ar(floor);
    ar(cap);
    ar(urgency);
  }
};

// One task that can still meet its deadline, as the forecasts see it. Work is in resource-seconds
// of the *whole* fleet budget times kWhole, i.e. parts-seconds: holding w parts for one second does
// w of it.
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
