#include "agent/placement/planner/plan.hpp"

#include <algorithm>

namespace laird::placement {

Seconds finish_of(const Instance& instance, const Plan& plan, std::size_t task) {
  const Placed& p = plan.tasks[task];
  return p.start_s + instance.choice(task, static_cast<std::size_t>(p.board)).time_s;
}

bool in_time(const Instance& instance, const Plan& plan, std::size_t task) {
  const Placed& p = plan.tasks[task];
  return p.start_s <= latest_start(instance, task, static_cast<std::size_t>(p.board));
}

Objective judge(const Instance& instance, const std::vector<Placed>& placed) {
  Objective out;
  for (std::size_t t = 0; t < placed.size(); ++t) {
    const auto board = static_cast<std::size_t>(placed[t].board);
    const Choice& c = instance.choice(t, board);
    out.makespan_s = std::max(out.makespan_s, placed[t].start_s + c.time_s);
    if (placed[t].start_s > latest_start(instance, t, board)) {
      out.missed_weight += instance.tasks[t].weight;
    }
    out.unpreferred += c.preferred ? 0 : 1;
    out.energy_j += c.energy_j;
  }
  return out;
}

double gap_of(const Plan& plan) {
  if (plan.bound_s <= 0) return 0.0;
  return static_cast<double>(plan.objective.makespan_s - plan.bound_s) /
         static_cast<double>(plan.bound_s);
}

}  // namespace laird::placement
