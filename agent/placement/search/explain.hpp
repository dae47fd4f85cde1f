// Why a task is where the plan puts it: what each other board would make of it.
#pragma once

#include <string>
#include <vector>

#include "agent/placement/planner/plan.hpp"

namespace laird::placement {

struct Alternative {
  std::size_t board = 0;
  std::string why_not;   // empty: the task could be there
  Seconds finish_s = 0;  // of the task
  bool in_time = true;
  Objective objective;  // of the plan with the task there, all else where it was
};

struct Explanation {
  std::size_t task = 0;
  std::vector<Alternative> others;  // possible ones first, the best first
};

// The task is put on each other board at the place where the plan stays best, and the plan is timed
// again; no other task changes its board. `plan` keeps every rule.
[[nodiscard]] Explanation explain(const Instance& instance, const Plan& plan, std::size_t task);

// In words: where and when, what the second best would cost, why the rest cannot be.
[[nodiscard]] std::string explanation_text(const Instance& instance, const Plan& plan,
                                           const Explanation& explanation);

}  // namespace laird::placement
