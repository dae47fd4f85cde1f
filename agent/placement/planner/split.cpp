#include "agent/placement/planner/split.hpp"

#include <algorithm>

namespace laird::placement {
namespace {

// The memory of a board that the task could be on but for its memory: the largest or smallest.
std::int64_t memory_limit(const Instance& instance, std::size_t task, SplitRule rule) {
  std::int64_t limit = 0;
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    const Choice& c = instance.choice(task, b);
    const PlannedBoard& board = instance.boards[b];
    if (c.time_s <= 0 || !c.allowed || c.gpu > board.gpu || board.memory_mb <= 0) continue;
    if (rule == SplitRule::kFitsNone) {
      limit = std::max(limit, board.memory_mb);
    } else {
      limit = limit == 0 ? board.memory_mb : std::min(limit, board.memory_mb);
    }
  }
  return limit;
}

bool has_a_board(const Instance& instance, std::size_t task) {
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    if (instance.may_run(task, b)) return true;
  }
  return false;
}

// The memory of each part; one entry: the task stays whole.
std::vector<std::int64_t> parts_of(std::int64_t memory_mb, std::int64_t limit, SplitRule rule) {
  const std::int64_t count = (memory_mb + limit - 1) / limit;
  std::vector<std::int64_t> out;
  if (rule == SplitRule::kFitsNone) {
    for (std::int64_t i = 0; i < count; ++i) {
      out.push_back(memory_mb / count + (i < memory_mb % count ? 1 : 0));
    }
    return out;
  }
  for (std::int64_t left = memory_mb; left > 0; left -= out.back()) {
    out.push_back(std::min(left, limit));
  }
  return out;
}

std::int64_t part_of(std::int64_t whole, std::int64_t part, std::int64_t of) {
  return (whole * part + of - 1) / of;
}

void add_parts(const Instance& from, std::size_t task, const std::vector<std::int64_t>& parts,
               Split& out) {
  const PlannedTask& whole = from.tasks[task];
  const auto count = static_cast<std::int64_t>(parts.size());
  for (std::int64_t i = 0; i < count; ++i) {
    PlannedTask part = whole;
    if (count > 1) {
      part.name += "/" + std::to_string(i + 1);
      part.splittable = false;
      part.memory_mb = parts[static_cast<std::size_t>(i)];
      part.weight = whole.weight / count + (i < whole.weight % count ? 1 : 0);
    }
    out.instance.tasks.push_back(std::move(part));
    out.whole.push_back(task);
    for (std::size_t b = 0; b < from.boards.size(); ++b) {
      Choice c = from.choice(task, b);
      if (count > 1) {
        c.time_s = part_of(c.time_s, parts[static_cast<std::size_t>(i)], whole.memory_mb);
        // Two factors, as a joule times a megabyte may not fit.
        c.energy_j =
            static_cast<std::int64_t>(static_cast<double>(c.energy_j) *
                                      (static_cast<double>(parts[static_cast<std::size_t>(i)]) /
                                       static_cast<double>(whole.memory_mb)));
      }
      out.instance.choices.push_back(c);
    }
  }
}

}  // namespace

Result<Split> split_oversized(const Instance& instance, SplitRule rule) {
  LAIRD_TRY(check(instance));
  Split out;
  out.instance.name = instance.name;
  out.instance.mode = instance.mode;
  out.instance.boards = instance.boards;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const PlannedTask& task = instance.tasks[t];
    const bool fits = has_a_board(instance, t);
    const std::int64_t limit = memory_limit(instance, t, rule);
    const bool too_large = limit > 0 && task.memory_mb > limit;
    const bool wanted =
        too_large && task.running < 0 && (rule == SplitRule::kSmallestBoard || !fits);
    if (!wanted || (fits && !task.splittable)) {
      add_parts(instance, t, {task.memory_mb}, out);
      continue;
    }
    const std::string size = "task '" + task.name + "' needs " + std::to_string(task.memory_mb) +
                             " MB, a board that it could be on has " + std::to_string(limit) +
                             " MB";
    if (!task.splittable) return fail(Code::kRefused, size + ", and it cannot be split");
    if ((task.memory_mb + limit - 1) / limit > kPartsMax) {
      return fail(Code::kRefused, size + ", and more than " + std::to_string(kPartsMax) +
                                      " parts of a task are not allowed");
    }
    add_parts(instance, t, parts_of(task.memory_mb, limit, rule), out);
  }
  LAIRD_TRY(check(out.instance));
  LAIRD_TRY(every_task_has_a_board(out.instance));
  return out;
}

}  // namespace laird::placement
