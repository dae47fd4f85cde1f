#include "agent/placement/planner/instance.hpp"

#include <set>

namespace laird::placement {
namespace {

std::string mb(std::int64_t v) { return std::to_string(v) + " MB"; }

// Whether the board is ever open long enough.
bool opens_for(const PlannedBoard& board, const Choice& choice) {
  Seconds from = choice.ready_s;
  for (const Window& w : board.closed) {
    if (from + choice.time_s <= w.from_s) return true;
    from = w.to_s > from ? w.to_s : from;
  }
  return from < kForever;
}

Status check_board(const PlannedBoard& b) {
  const std::string what = "board '" + b.name + "': ";
  if (b.memory_mb < 0 || b.memory_mb > kMemoryMbMax) {
    return fail(Code::kInvalid, what + "memory_mb must be 0 to " + std::to_string(kMemoryMbMax));
  }
  if (b.gpu < 0 || b.gpu > kGpuWhole) return fail(Code::kInvalid, what + "gpu must be 0 to 1000");
  if (b.lanes < 0 || b.lanes > kLanesMax) {
    return fail(Code::kInvalid, what + "lanes must be 0 to " + std::to_string(kLanesMax));
  }
  if (b.closed.size() > kClosedMax) return fail(Code::kInvalid, what + "too many closed windows");
  Seconds last = -1;
  for (const Window& w : b.closed) {
    if (w.from_s <= last || w.to_s <= w.from_s || w.to_s > kForever) {
      return fail(Code::kInvalid,
                  what + "closed windows must be ascending, apart from each other, and not empty");
    }
    last = w.to_s;
  }
  return {};
}

Status check_task(const Instance& instance, std::size_t index) {
  const PlannedTask& t = instance.tasks[index];
  const std::string what = "task '" + t.name + "': ";
  if (t.memory_mb < 0 || t.memory_mb > kMemoryMbMax) {
    return fail(Code::kInvalid, what + "memory_mb must be 0 to " + std::to_string(kMemoryMbMax));
  }
  if (t.weight < 0 || t.weight > kWeightMax) {
    return fail(Code::kInvalid, what + "weight must be 0 to " + std::to_string(kWeightMax));
  }
  if (t.deadline_s < 0 || t.deadline_s > kForever) {
    return fail(Code::kInvalid, what + "deadline_s must not be negative");
  }
  if (t.low_permille < 0 || t.low_permille > 1000 || t.high_permille < 1000 ||
      t.high_permille > 1'000'000) {
    return fail(Code::kInvalid,
                what + "the quantiles must be low_permille <= 1000 <= high_permille <= 1000000");
  }
  if (t.running >= static_cast<int>(instance.boards.size())) {
    return fail(Code::kInvalid, what + "runs on a board that is not there");
  }
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    const Choice& c = instance.choice(index, b);
    if (c.time_s < 0 || c.time_s > kSecondsMax || c.ready_s < 0 || c.ready_s > kSecondsMax ||
        c.gpu < 0 || c.gpu > kGpuWhole || c.energy_j < 0 || c.energy_j > kEnergyMax) {
      return fail(Code::kInvalid,
                  what + "a number for board '" + instance.boards[b].name + "' is out of range");
    }
  }
  return {};
}

}  // namespace

std::string_view name(Mode mode) { return mode == Mode::kSerial ? "S" : "C"; }

bool Instance::may_run(std::size_t task, std::size_t board) const {
  const Choice& c = choice(task, board);
  const PlannedBoard& b = boards[board];
  if (c.time_s <= 0 || !c.allowed) return false;
  if (tasks[task].memory_mb > b.memory_mb || c.gpu > b.gpu) return false;
  const int running = tasks[task].running;
  if (running >= 0) return running == static_cast<int>(board);
  return b.closed.empty() || opens_for(b, c);
}

std::string why_not(const Instance& instance, std::size_t task, std::size_t board) {
  if (instance.may_run(task, board)) return {};
  const Choice& c = instance.choice(task, board);
  const PlannedBoard& b = instance.boards[board];
  const PlannedTask& t = instance.tasks[task];
  if (t.running >= 0 && t.running != static_cast<int>(board)) {
    return "it runs on " + instance.boards[static_cast<std::size_t>(t.running)].name;
  }
  if (!c.allowed) return "the task does not allow this board";
  if (c.time_s <= 0) return "nothing is known about the task on a board of kind '" + b.kind + "'";
  if (t.memory_mb > b.memory_mb) {
    return "it needs " + mb(t.memory_mb) + ", the board has " + mb(b.memory_mb);
  }
  if (c.gpu > b.gpu) {
    return "it needs " + std::to_string(c.gpu) + " thousandths of the GPU, the board gives " +
           std::to_string(b.gpu);
  }
  return "the board is never open for the " + std::to_string(c.time_s) + " s that it takes";
}

Status check(const Instance& instance) {
  if (instance.boards.empty()) return fail(Code::kInvalid, "the instance has no board");
  if (instance.boards.size() > kPlannedBoardsMax || instance.tasks.size() > kPlannedTasksMax ||
      instance.boards.size() * instance.tasks.size() > kPlannedPairsMax) {
    return fail(Code::kInvalid, "the instance is too large: at most " +
                                    std::to_string(kPlannedBoardsMax) + " boards, " +
                                    std::to_string(kPlannedTasksMax) + " tasks and " +
                                    std::to_string(kPlannedPairsMax) + " pairs of both");
  }
  if (instance.choices.size() != instance.boards.size() * instance.tasks.size()) {
    return fail(Code::kInvalid, "the instance does not say each task's time on each board");
  }
  std::set<std::string_view> boards;
  for (const PlannedBoard& b : instance.boards) {
    LAIRD_TRY(check_board(b));
    if (!boards.insert(b.name).second) {
      return fail(Code::kInvalid, "two boards are called '" + b.name + "'");
    }
  }
  std::set<std::string_view> tasks;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    LAIRD_TRY(check_task(instance, t));
    if (!tasks.insert(instance.tasks[t].name).second) {
      return fail(Code::kInvalid, "two tasks are called '" + instance.tasks[t].name + "'");
    }
  }
  return {};
}

Status every_task_has_a_board(const Instance& instance) {
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    bool any = false;
    for (std::size_t b = 0; b < instance.boards.size() && !any; ++b) any = instance.may_run(t, b);
    if (any) continue;
    std::string text = "task '" + instance.tasks[t].name + "' fits no board: ";
    for (std::size_t b = 0; b < instance.boards.size() && b < 4; ++b) {
      text += (b > 0 ? "; " : "") + instance.boards[b].name + ": " + why_not(instance, t, b);
    }
    if (instance.boards.size() > 4) text += "; and so on";
    return fail(Code::kRefused, text);
  }
  return {};
}

int lanes_of(const Instance& instance, std::size_t board) {
  if (instance.mode == Mode::kSerial) return 1;
  const int lanes = instance.boards[board].lanes;
  return lanes > 0 ? lanes : static_cast<int>(2 * kPlannedTasksMax);
}

Seconds latest_start(const Instance& instance, std::size_t task, std::size_t board) {
  const PlannedTask& t = instance.tasks[task];
  if (t.deadline_s >= kForever) return kForever;
  const Seconds time = instance.choice(task, board).time_s;
  // The deadline is compared with the 90% need, rounded up.
  return t.deadline_s - (time * t.high_permille + 999) / 1000;
}

}  // namespace laird::placement
