#include "control/plan/moves.hpp"

namespace laird::control {

void bind_what_stays(placement::FleetFacts& facts) {
  for (placement::TaskFact& task : facts.tasks) {
    if (!task.board.empty() && !task.movable) task.bound = true;
  }
}

std::vector<Move> moves_of(const FleetPlan& plan) {
  std::vector<Move> out;
  for (std::size_t t = 0; t < plan.plan.tasks.size(); ++t) {
    const placement::TaskFact& task = plan.facts.tasks[plan.of.tasks[t]];
    const auto lane = static_cast<std::size_t>(plan.plan.tasks[t].board);
    const std::string& to = plan.facts.boards[plan.of.lanes[lane].board].name;
    if (task.movable && !task.board.empty() && task.board != to) {
      out.push_back({task.name, task.board, to});
    }
  }
  return out;
}

}  // namespace laird::control
