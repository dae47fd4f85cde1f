// Small instances for the planner's tests, and their best plans by trying everything.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "agent/placement/planner/timetable.hpp"
#include "base/random.hpp"

namespace laird::test {

// Boards of equal size without tasks.
inline placement::Instance empty_instance(std::size_t boards, placement::Mode mode) {
  placement::Instance out;
  out.name = "sample";
  out.mode = mode;
  for (std::size_t b = 0; b < boards; ++b) {
    placement::PlannedBoard board;
    board.name = "n-" + std::to_string(b + 1);
    board.kind = "nano";
    board.memory_mb = 4000;
    out.boards.push_back(std::move(board));
  }
  return out;
}

// A task that takes the same time on every board.
inline placement::PlannedTask& add_task(placement::Instance& instance, const std::string& name,
                                        placement::Seconds time_s, std::int64_t memory_mb = 1000,
                                        int gpu = 500) {
  placement::PlannedTask task;
  task.name = name;
  task.memory_mb = memory_mb;
  placement::Choice choice;
  choice.time_s = time_s;
  choice.gpu = gpu;
  instance.choices.insert(instance.choices.end(), instance.boards.size(), choice);
  instance.tasks.push_back(std::move(task));
  return instance.tasks.back();
}

// A bit of everything; every task has a board, though not every instance has a plan.
inline placement::Instance random_instance(std::uint64_t seed, std::size_t tasks,
                                           std::size_t boards) {
  using Chance = RandomOf<Range::kScaled>;
  Chance chance(spread_seed(seed));
  placement::Instance out = empty_instance(
      boards, chance.chance(0.5) ? placement::Mode::kSerial : placement::Mode::kConcurrent);
  for (placement::PlannedBoard& b : out.boards) {
    b.memory_mb = chance.between(2000, 5000);
    if (chance.chance(0.2)) b.lanes = static_cast<int>(chance.between(1, 3));
    if (chance.chance(0.3)) {
      const placement::Seconds from = chance.between(0, 60);
      b.closed.push_back({from, from + chance.between(5, 40)});
    }
  }
  const bool pinned = chance.chance(0.3);
  for (std::size_t t = 0; t < tasks; ++t) {
    placement::PlannedTask& task =
        add_task(out, "t" + std::to_string(t + 1), 1, chance.between(100, 2000));
    for (std::size_t b = 0; b < boards; ++b) {
      placement::Choice& c = out.choice(t, b);
      c.time_s = chance.between(5, 40);
      c.gpu = static_cast<int>(chance.between(100, 900));
      c.energy_j = chance.between(10, 100);
      c.preferred = chance.chance(0.7);
      if (b > 0 && chance.chance(0.15)) c.time_s = 0;
      if (chance.chance(0.15)) c.ready_s = chance.between(1, 30);
    }
    if (chance.chance(0.5)) {
      task.deadline_s = chance.between(20, 120);
      task.weight = chance.between(1, 5);
      task.high_permille = static_cast<int>(chance.between(1000, 1500));
    }
    if (chance.chance(0.3)) task.apart = 0;
  }
  // More of one group than boards could not be placed.
  std::size_t grouped = 0;
  for (placement::PlannedTask& t : out.tasks) {
    if (t.apart >= 0 && ++grouped > 2) t.apart = -1;
  }
  if (pinned) {
    out.tasks[0].running = 0;
    out.choice(0, 0).ready_s = 0;
    if (out.choice(0, 0).time_s == 0) out.choice(0, 0).time_s = 10;
  }
  return out;
}

// The best objective over all assignments and orders; makespan kForever: there is no plan.
inline placement::Objective best_by_trying(const placement::Instance& instance) {
  using namespace placement;
  Objective best{INT64_MAX, kForever, INT64_MAX, INT64_MAX};
  std::vector<Order> orders(instance.boards.size());
  const std::function<void(std::size_t)> permute = [&](std::size_t board) {
    if (board == orders.size()) {
      const std::vector<Placed> placed = place_orders(instance, orders);
      for (const Placed& p : placed) {
        if (p.start_s >= kForever) return;
      }
      best = std::min(best, judge(instance, placed));
      return;
    }
    std::sort(orders[board].begin(), orders[board].end());
    do {
      permute(board + 1);
    } while (std::next_permutation(orders[board].begin(), orders[board].end()));
  };
  const std::function<void(std::size_t)> assign = [&](std::size_t task) {
    if (task == instance.tasks.size()) {
      permute(0);
      return;
    }
    for (std::size_t b = 0; b < orders.size(); ++b) {
      const int group = instance.tasks[task].apart;
      const bool together =
          group >= 0 && std::any_of(orders[b].begin(), orders[b].end(), [&](int o) {
            return instance.tasks[static_cast<std::size_t>(o)].apart == group;
          });
      if (!instance.may_run(task, b) || together) continue;
      const std::vector<Order> before = orders;
      orders[b].push_back(static_cast<int>(task));
      assign(task + 1);
      orders = before;
    }
  };
  assign(0);
  return best;
}

}  // namespace laird::test
