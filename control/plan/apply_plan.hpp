// Carries out a plan: the tasks that may move and have not begun go to where the plan has them.
#pragma once

#include <vector>

#include "base/time.hpp"
#include "control/fleet/fleet_client.hpp"
#include "control/plan/move_task.hpp"
#include "control/plan/plan_answer.hpp"

namespace laird::control {

// What its board keeps is planned there: the plan is then one that can be carried out.
void bind_what_stays(placement::FleetFacts& facts);
// The moves by which the fleet comes to the plan.
[[nodiscard]] std::vector<Move> moves_of(const FleetPlan& plan);
// One after the other, told as they go. What a board refuses is left as it is.
[[nodiscard]] int apply_plan(FleetClient& client, const FleetPlan& plan, DurationNs timeout);

}  // namespace laird::control
