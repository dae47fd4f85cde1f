#include "lab/placement/paper_solvers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "agent/placement/planner/timetable.hpp"

namespace laird::lab {
namespace {

using placement::Instance;
using placement::Order;
using placement::Plan;
using placement::Seconds;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// One column per pair of task and board that may be, and one per task for "left over".
struct Columns {
  std::vector<std::vector<int>> pair;  // by place in `tasks`, by board; -1: not eligible
  std::vector<int> left;               // by place in `tasks`; empty: no task may be left over
};

double time_of(const Instance& instance, std::size_t task, std::size_t board) {
  return static_cast<double>(instance.choice(task, board).time_s);
}

Columns add_pairs(const Instance& instance, const std::vector<std::size_t>& tasks,
                  bool cost_is_time, Ilp& ilp) {
  Columns out;
  for (const std::size_t t : tasks) {
    std::vector<int>& row = out.pair.emplace_back(instance.boards.size(), -1);
    for (std::size_t b = 0; b < instance.boards.size(); ++b) {
      if (!instance.may_run(t, b)) continue;
      row[b] = ilp.add_column(cost_is_time ? time_of(instance, t, b) : 0.0, 1.0, true);
    }
  }
  return out;
}

// Each task on one board, or left over at its penalty.
void add_choice_rows(const std::vector<double>& penalty, Columns& columns, Ilp& ilp) {
  for (std::size_t i = 0; i < columns.pair.size(); ++i) {
    IlpRow row{{}, 1.0, 1.0};
    for (const int c : columns.pair[i]) {
      if (c >= 0) row.terms.emplace_back(c, 1.0);
    }
    if (!penalty.empty()) {
      columns.left.push_back(ilp.add_column(penalty[i], 1.0, true));
      row.terms.emplace_back(columns.left.back(), 1.0);
    }
    ilp.rows.push_back(std::move(row));
  }
}

// For each board: the sum of `part` over its tasks stays within `high`.
template <class Part>
void add_board_rows(const Instance& instance, const Columns& columns, Ilp& ilp, Part part,
                    const std::vector<double>& high, int minus_column = -1) {
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    IlpRow row{{}, -kNoLimit, high[b]};
    for (std::size_t i = 0; i < columns.pair.size(); ++i) {
      if (columns.pair[i][b] >= 0) row.terms.emplace_back(columns.pair[i][b], part(i, b));
    }
    if (minus_column >= 0) row.terms.emplace_back(minus_column, -1.0);
    ilp.rows.push_back(std::move(row));
  }
}

void add_capacity_rows(const Instance& instance, const std::vector<std::size_t>& tasks,
                       const Columns& columns, Ilp& ilp) {
  std::vector<double> memory;
  std::vector<double> gpu;
  for (const placement::PlannedBoard& b : instance.boards) {
    memory.push_back(static_cast<double>(b.memory_mb));
    gpu.push_back(b.gpu);
  }
  add_board_rows(
      instance, columns, ilp,
      [&](std::size_t i, std::size_t) {
        return static_cast<double>(instance.tasks[tasks[i]].memory_mb);
      },
      memory);
  add_board_rows(
      instance, columns, ilp,
      [&](std::size_t i, std::size_t b) {
        return static_cast<double>(instance.choice(tasks[i], b).gpu);
      },
      gpu);
}

// The board of each task; -1: left over.
std::vector<int> boards_of(const Columns& columns, const IlpAnswer& answer) {
  std::vector<int> out(columns.pair.size(), -1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t b = 0; b < columns.pair[i].size(); ++b) {
      const int c = columns.pair[i][b];
      if (c >= 0 && answer.values[static_cast<std::size_t>(c)] > 0.5) out[i] = static_cast<int>(b);
    }
  }
  return out;
}

enum class RoundKind : std::uint8_t { kMakespan, kTotal };

// One round of either programme.
Result<std::vector<int>> round_of(const Instance& instance, const std::vector<std::size_t>& tasks,
                                  RoundKind kind, IlpSolver& solver, double seconds) {
  Ilp ilp;
  std::vector<double> penalty;
  double longest = 0.0;
  for (const std::size_t t : tasks) {
    double sum = 0.0;
    double count = 0.0;
    for (std::size_t b = 0; b < instance.boards.size(); ++b) {
      if (!instance.may_run(t, b)) continue;
      sum += time_of(instance, t, b);
      count += 1.0;
      longest = std::max(longest, time_of(instance, t, b));
    }
    penalty.push_back(sum / count);
  }
  if (kind == RoundKind::kMakespan) std::fill(penalty.begin(), penalty.end(), longest);
  Columns columns = add_pairs(instance, tasks, kind == RoundKind::kTotal, ilp);
  const int makespan = kind == RoundKind::kMakespan ? ilp.add_column(1.0, kNoLimit, false) : -1;
  add_choice_rows(penalty, columns, ilp);
  add_capacity_rows(instance, tasks, columns, ilp);
  if (makespan >= 0) {
    add_board_rows(
        instance, columns, ilp,
        [&](std::size_t i, std::size_t b) { return time_of(instance, tasks[i], b); },
        std::vector<double>(instance.boards.size(), 0.0), makespan);
  }
  const Result<IlpAnswer> answer = solver.solve(ilp, seconds);
  LAIRD_TRY(answer);
  return boards_of(columns, *answer);
}

std::vector<std::vector<std::size_t>> batches_by_memory(const Instance& instance) {
  std::int64_t whole = 0;
  for (const placement::PlannedBoard& b : instance.boards) whole += b.memory_mb;
  std::vector<std::vector<std::size_t>> out;
  std::int64_t taken = 0;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const std::int64_t memory = instance.tasks[t].memory_mb;
    if (out.empty() || taken + memory > whole) {
      out.emplace_back();
      taken = 0;
    }
    out.back().push_back(t);
    taken += memory;
  }
  return out;
}

Status refuse_what_the_paper_lacks(const Instance& instance) {
  for (const placement::PlannedTask& t : instance.tasks) {
    if (t.running < 0 && t.apart < 0) continue;
    return fail(Code::kRefused, "task '" + t.name +
                                    "' runs already or must be apart from others: the paper's "
                                    "schedulers know neither; use the solver search");
  }
  for (const placement::PlannedBoard& b : instance.boards) {
    if (b.closed.empty() && b.lanes == 0) continue;
    return fail(Code::kRefused, "board '" + b.name +
                                    "' has closed windows or lanes: the paper's schedulers know "
                                    "neither; use the solver search");
  }
  for (const placement::Choice& c : instance.choices) {
    if (c.ready_s > 0) {
      return fail(
          Code::kRefused,
          "a task's data must be copied first: the paper's schedulers do not know that; use "
          "the solver search");
    }
  }
  return placement::every_task_has_a_board(instance);
}

Plan finished(const Instance& instance, std::vector<placement::Placed> placed, const char* solver) {
  Plan out;
  out.tasks = std::move(placed);
  out.objective = placement::judge(instance, out.tasks);
  out.solver = solver;
  return out;
}

std::vector<std::size_t> left_over(const std::vector<std::size_t>& tasks,
                                   const std::vector<int>& boards) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (boards[i] < 0) out.push_back(tasks[i]);
  }
  return out;
}

tl::unexpected<Error> nothing_placed() {
  return fail(Code::kUnavailable, "a round placed no task at all; give it more time per solve");
}

}  // namespace

Result<Plan> membatch(const Instance& instance, IlpSolver& solver, double seconds_per_solve) {
  LAIRD_TRY(refuse_what_the_paper_lacks(instance));
  std::vector<placement::Placed> placed(instance.tasks.size());
  Seconds barrier = 0;
  for (std::vector<std::size_t> remaining : batches_by_memory(instance)) {
    while (!remaining.empty()) {
      const Result<std::vector<int>> boards =
          round_of(instance, remaining, RoundKind::kMakespan, solver, seconds_per_solve);
      LAIRD_TRY(boards);
      std::vector<Seconds> end(instance.boards.size(), barrier);
      Seconds last = barrier;
      for (std::size_t i = 0; i < remaining.size(); ++i) {
        if ((*boards)[i] < 0) continue;
        const auto b = static_cast<std::size_t>((*boards)[i]);
        // What a round puts on a board fits there at once: in mode C it all starts together.
        const Seconds start = instance.mode == placement::Mode::kSerial ? end[b] : barrier;
        placed[remaining[i]] = {(*boards)[i], start};
        end[b] = start + instance.choice(remaining[i], b).time_s;
        last = std::max(last, end[b]);
      }
      if (last == barrier) return nothing_placed();
      barrier = last;
      remaining = left_over(remaining, *boards);
    }
  }
  return finished(instance, std::move(placed), "membatch");
}

Result<Plan> baseline_ilp(const Instance& instance, IlpSolver& solver, double seconds_per_solve) {
  LAIRD_TRY(refuse_what_the_paper_lacks(instance));
  std::vector<Order> orders(instance.boards.size());
  std::vector<std::size_t> remaining;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) remaining.push_back(t);
  while (!remaining.empty()) {
    const Result<std::vector<int>> boards =
        round_of(instance, remaining, RoundKind::kTotal, solver, seconds_per_solve);
    LAIRD_TRY(boards);
    for (std::size_t i = 0; i < remaining.size(); ++i) {
      if ((*boards)[i] < 0) continue;
      orders[static_cast<std::size_t>((*boards)[i])].push_back(static_cast<int>(remaining[i]));
    }
    const std::size_t before = remaining.size();
    remaining = left_over(remaining, *boards);
    if (remaining.size() == before) return nothing_placed();
  }
  return finished(instance, placement::place_orders(instance, orders), "baseline");
}

Result<Plan> fcfs_least_loaded(const Instance& instance) {
  LAIRD_TRY(refuse_what_the_paper_lacks(instance));
  struct Running {
    Seconds end = 0;
    std::size_t task = 0;
    std::size_t board = 0;
  };
  struct Used {
    std::int64_t memory_mb = 0;
    int gpu = 0;
    int count = 0;
  };
  std::vector<placement::Placed> placed(instance.tasks.size());
  std::vector<Used> used(instance.boards.size());
  std::vector<Running> running;
  Seconds now = 0;
  for (std::size_t t = 0; t < instance.tasks.size();) {
    int best = -1;
    double least = 0.0;
    for (std::size_t b = 0; b < instance.boards.size(); ++b) {
      const placement::PlannedBoard& board = instance.boards[b];
      if (!instance.may_run(t, b) || used[b].count >= placement::lanes_of(instance, b) ||
          used[b].memory_mb + instance.tasks[t].memory_mb > board.memory_mb ||
          used[b].gpu + instance.choice(t, b).gpu > board.gpu) {
        continue;
      }
      const double load =
          std::max(static_cast<double>(used[b].memory_mb) /
                       static_cast<double>(std::max<std::int64_t>(board.memory_mb, 1)),
                   static_cast<double>(used[b].gpu) / static_cast<double>(std::max(board.gpu, 1)));
      if (best < 0 || load < least) {
        best = static_cast<int>(b);
        least = load;
      }
    }
    if (best >= 0) {
      const auto b = static_cast<std::size_t>(best);
      placed[t] = {best, now};
      used[b].memory_mb += instance.tasks[t].memory_mb;
      used[b].gpu += instance.choice(t, b).gpu;
      used[b].count += 1;
      running.push_back({now + instance.choice(t, b).time_s, t, b});
      ++t;
      continue;
    }
    now = std::min_element(running.begin(), running.end(), [](const Running& x, const Running& y) {
            return x.end < y.end;
          })->end;
    std::erase_if(running, [&](const Running& r) {
      if (r.end > now) return false;
      used[r.board].memory_mb -= instance.tasks[r.task].memory_mb;
      used[r.board].gpu -= instance.choice(r.task, r.board).gpu;
      used[r.board].count -= 1;
      return true;
    });
  }
  return finished(instance, std::move(placed), "fcfs");
}

Result<Plan> exact_ilp(const Instance& instance, IlpSolver& solver, double seconds, bool* proved) {
  LAIRD_TRY(refuse_what_the_paper_lacks(instance));
  if (instance.mode != placement::Mode::kSerial) {
    return fail(Code::kRefused,
                "the exact programme is for mode S; use the solver search for mode C");
  }
  std::vector<std::size_t> tasks;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) tasks.push_back(t);
  Ilp ilp;
  Columns columns = add_pairs(instance, tasks, false, ilp);
  const int makespan = ilp.add_column(1.0, kNoLimit, false);
  add_choice_rows({}, columns, ilp);
  add_board_rows(
      instance, columns, ilp, [&](std::size_t i, std::size_t b) { return time_of(instance, i, b); },
      std::vector<double>(instance.boards.size(), 0.0), makespan);
  const Result<IlpAnswer> answer = solver.solve(ilp, seconds);
  LAIRD_TRY(answer);
  *proved = answer->proved;
  const std::vector<int> boards = boards_of(columns, *answer);
  std::vector<Order> orders(instance.boards.size());
  for (std::size_t t = 0; t < boards.size(); ++t) {
    orders[static_cast<std::size_t>(boards[t])].push_back(static_cast<int>(t));
  }
  Plan out = finished(instance, placement::place_orders(instance, orders), "cbc");
  out.bound_s =
      std::min(out.objective.makespan_s, static_cast<Seconds>(std::ceil(answer->bound - 1e-6)));
  return out;
}

}  // namespace laird::lab
