#include "control/plan/apply_plan.hpp"

#include <algorithm>

#include "control/fleet/exit.hpp"
#include "control/screen/output.hpp"

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

int apply_plan(FleetClient& client, const FleetPlan& plan, DurationNs timeout) {
  const std::vector<Move> moves = moves_of(plan);
  if (moves.empty()) {
    print("nothing to move: every task that may move is where the plan has it\n");
    return 0;
  }
  std::size_t done = 0;
  int worst = 0;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const Move& move = moves[i];
    say("move " + std::to_string(i + 1) + " of " + std::to_string(moves.size()) + ": " +
        move.task + " from " + move.from + " to " + move.to);
    const int code = move_task(client, move, timeout);
    done += code == 0 ? 1 : 0;
    worst = std::max(worst, code);
  }
  print("%zu of %zu moves done\n", done, moves.size());
  return done == moves.size() ? 0 : done > 0 ? kPartial : worst;
}

}  // namespace laird::control
