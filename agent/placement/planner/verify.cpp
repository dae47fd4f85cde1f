#include "agent/placement/planner/verify.hpp"

#include <algorithm>
#include <tuple>

namespace laird::placement {
namespace {

std::string seconds(Seconds s) { return std::to_string(s) + " s"; }

struct Step {
  Seconds at = 0;
  bool begins = false;  // what ends at a moment has made room for what begins then
  std::size_t task = 0;
};

Status verify_task(const Instance& instance, const Plan& plan, std::size_t task) {
  const Placed& p = plan.tasks[task];
  const PlannedTask& t = instance.tasks[task];
  const auto what = [&] { return "task '" + t.name + "' "; };
  if (p.board < 0 || p.board >= static_cast<int>(instance.boards.size())) {
    return fail(Code::kInvalid, what() + "has no board");
  }
  const auto board = static_cast<std::size_t>(p.board);
  const PlannedBoard& b = instance.boards[board];
  if (const std::string why = why_not(instance, task, board); !why.empty()) {
    return fail(Code::kInvalid, what() + "cannot be on " + b.name + ": " + why);
  }
  const Choice& c = instance.choice(task, board);
  if (p.start_s < 0 || p.start_s >= kForever) {
    return fail(Code::kInvalid, what() + "starts at " + seconds(p.start_s));
  }
  if (t.running >= 0 && p.start_s != 0) {
    return fail(Code::kInvalid, what() + "runs now and cannot start at " + seconds(p.start_s));
  }
  if (t.running >= 0) return {};
  if (p.start_s < c.ready_s) {
    return fail(Code::kInvalid, what() + "starts at " + seconds(p.start_s) +
                                    ", before its data are on " + b.name + " at " +
                                    seconds(c.ready_s));
  }
  for (const Window& w : b.closed) {
    if (p.start_s < w.to_s && p.start_s + c.time_s > w.from_s) {
      return fail(Code::kInvalid, what() + "runs while " + b.name + " is closed from " +
                                      seconds(w.from_s) + " to " + seconds(w.to_s));
    }
  }
  return {};
}

// What runs at once on a board, from moment to moment.
Status verify_board(const Instance& instance, std::size_t board, std::vector<Step>& steps) {
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return std::tie(a.at, a.begins, a.task) < std::tie(b.at, b.begins, b.task);
  });
  const PlannedBoard& b = instance.boards[board];
  std::int64_t memory_mb = 0;
  std::int64_t gpu = 0;
  std::int64_t count = 0;
  for (const Step& s : steps) {
    const int sign = s.begins ? 1 : -1;
    memory_mb += sign * instance.tasks[s.task].memory_mb;
    gpu += sign * instance.choice(s.task, board).gpu;
    count += sign;
    if (!s.begins) continue;
    const auto when = [&] {
      return " on " + b.name + " from " + seconds(s.at) + ", when task '" +
             instance.tasks[s.task].name + "' starts";
    };
    if (count > lanes_of(instance, board)) {
      return fail(Code::kInvalid, std::to_string(count) + " tasks at once" + when());
    }
    // One at a time, a task has the board to itself; whether it fits was asked before.
    if (memory_mb > b.memory_mb) {
      return fail(Code::kInvalid, std::to_string(memory_mb) + " MB of " +
                                      std::to_string(b.memory_mb) + " MB" + when());
    }
    if (gpu > b.gpu) {
      return fail(Code::kInvalid, std::to_string(gpu) + " thousandths of a GPU of " +
                                      std::to_string(b.gpu) + when());
    }
  }
  return {};
}

Status verify_apart(const Instance& instance, const Plan& plan) {
  std::vector<std::tuple<int, int, std::size_t>> placed;  // group, board, task
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    if (instance.tasks[t].apart >= 0)
      placed.emplace_back(instance.tasks[t].apart, plan.tasks[t].board, t);
  }
  std::sort(placed.begin(), placed.end());
  for (std::size_t i = 1; i < placed.size(); ++i) {
    const auto& [group, board, task] = placed[i];
    const auto& [group_before, board_before, task_before] = placed[i - 1];
    if (group != group_before || board != board_before) continue;
    return fail(Code::kInvalid, "tasks '" + instance.tasks[task_before].name + "' and '" +
                                    instance.tasks[task].name + "' must be apart and are both on " +
                                    instance.boards[static_cast<std::size_t>(board)].name);
  }
  return {};
}

}  // namespace

Status verify(const Instance& instance, const Plan& plan) {
  if (plan.tasks.size() != instance.tasks.size()) {
    return fail(Code::kInvalid, "the plan has " + std::to_string(plan.tasks.size()) +
                                    " tasks, the instance " +
                                    std::to_string(instance.tasks.size()));
  }
  std::vector<std::vector<Step>> steps(instance.boards.size());
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    LAIRD_TRY(verify_task(instance, plan, t));
    const auto board = static_cast<std::size_t>(plan.tasks[t].board);
    const Seconds start = plan.tasks[t].start_s;
    steps[board].push_back({start, true, t});
    steps[board].push_back({start + instance.choice(t, board).time_s, false, t});
  }
  for (std::size_t b = 0; b < steps.size(); ++b) LAIRD_TRY(verify_board(instance, b, steps[b]));
  LAIRD_TRY(verify_apart(instance, plan));
  const Objective found = judge(instance, plan.tasks);
  if (found.makespan_s != plan.objective.makespan_s) {
    return fail(Code::kInvalid, "the plan says that it ends after " +
                                    seconds(plan.objective.makespan_s) + ", it ends after " +
                                    seconds(found.makespan_s));
  }
  if (found != plan.objective) {
    return fail(Code::kInvalid,
                "the plan's missed deadlines, preferences or energy are not what its tasks give");
  }
  if (plan.bound_s > found.makespan_s) {
    return fail(Code::kInvalid, "the plan says that no plan ends before " + seconds(plan.bound_s) +
                                    ", and ends after " + seconds(found.makespan_s) + " itself");
  }
  return {};
}

}  // namespace laird::placement
