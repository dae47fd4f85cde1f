// The planner: an instance in, a plan out that keeps every rule, with a bound that says how far
// from the best it can be.
#pragma once

#include "agent/placement/planner/plan.hpp"
#include "agent/placement/search/steering.hpp"

namespace laird::placement {

struct SolveLimits {
  std::uint64_t seed = 1;
  std::uint64_t steps_max = 2'000'000;
  // Hears of every better plan; false ends the search with the best so far.
  std::function<bool(const Progress&)> go_on;
};

// The error says which task has no board and why, or that the boards close too early. The plan's
// rules are checked by verify() before it is returned. Deterministic: the same instance, seed and
// steps give the same plan on every machine.
[[nodiscard]] Result<Plan> solve(const Instance& instance, const SolveLimits& limits = {});

}  // namespace laird::placement
