// A plan: where and when each task runs, and how good that is.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/placement/planner/instance.hpp"

namespace laird::placement {

struct Placed {
  int board = -1;
  Seconds start_s = 0;
};

// What a plan is judged by, the first difference deciding; less is better.
struct Objective {
  std::int64_t missed_weight = 0;  // of the deadlines that are not met
  Seconds makespan_s = 0;
  std::int64_t unpreferred = 0;  // tasks that are not on a board they prefer
  std::int64_t energy_j = 0;

  friend auto operator<=>(const Objective&, const Objective&) = default;
};

struct Plan {
  std::vector<Placed> tasks;  // in the order of the instance's tasks
  Objective objective;
  Seconds bound_s = 0;  // no plan of this instance has a smaller makespan; 0: nobody asked
  std::string solver;
};

[[nodiscard]] Seconds finish_of(const Instance& instance, const Plan& plan, std::size_t task);
[[nodiscard]] bool in_time(const Instance& instance, const Plan& plan, std::size_t task);

// Computed from the placements alone.
[[nodiscard]] Objective judge(const Instance& instance, const std::vector<Placed>& placed);

// How far the makespan lies above the bound, as a part of the bound; 0 when there is none.
[[nodiscard]] double gap_of(const Plan& plan);

}  // namespace laird::placement
