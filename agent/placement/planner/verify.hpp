// Checks a plan against its instance without any part of the solvers: a plan that came from another
// board, or from a solver with a mistake in it, is followed only after this.
#pragma once

#include "agent/placement/planner/plan.hpp"

namespace laird::placement {

// Every rule of the instance, and that the plan's objective is what its placements give. The error
// names the first task or board that breaks a rule. Takes O(n log n) for n tasks.
[[nodiscard]] Status verify(const Instance& instance, const Plan& plan);

}  // namespace laird::placement
