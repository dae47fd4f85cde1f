// The moves by which a fleet comes to a plan: of tasks that may move and have not begun. Pure.
#pragma once

#include <string>
#include <vector>

#include "control/plan/plan_answer.hpp"

namespace laird::control {

struct Move {
  std::string task;
  std::string from;
  std::string to;
};

// What cannot move is planned where it is: the plan is then one that can be carried out.
void bind_what_stays(placement::FleetFacts& facts);
[[nodiscard]] std::vector<Move> moves_of(const FleetPlan& plan);

}  // namespace laird::control
