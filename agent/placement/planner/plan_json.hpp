// Plans as JSON: "laird.plan/1" (docs/placement.md).
#pragma once

#include "agent/placement/planner/instance_json.hpp"
#include "agent/placement/planner/plan.hpp"

namespace laird::placement {

// A plan without starts gets those of its order: each task as early as it fits on its board, never
// before the one listed before it there. The objective is computed, but for the makespan, which is
// what the document says: verify() compares it. Refused: a plan of another instance, of another
// mode, with a task twice, missing or unknown.
[[nodiscard]] Result<Plan> read_plan(const json::Value& document, const ReadInstance& of);
[[nodiscard]] json::Value plan_json(const Instance& instance, const std::string& hash,
                                    const Plan& plan);

}  // namespace laird::placement
