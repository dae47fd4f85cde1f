// When tasks run on one board: in a given order, each as early as it fits.
//
// Source: the serial schedule generation scheme (Kolisch, 1996) with the three resources of a
// board: GPU, memory and lanes. A task may slip in before one that stands earlier in the order if
// nothing is delayed by it, so every schedule in which no task could start earlier comes from some
// order.
#pragma once

#include <vector>

#include "agent/placement/planner/plan.hpp"

namespace laird::placement {

using Order = std::vector<int>;  // tasks, by their numbers

// What is taken of a board from moment to moment. Reused for many orders: it keeps its memory.
class Timetable {
 public:
  explicit Timetable(const Instance& instance) : instance_(instance) {}

  // An empty board, its closed windows taken.
  void begin(std::size_t board);
  // The earliest start of the task, not before `from_s`; kForever if there is none.
  [[nodiscard]] Seconds earliest(std::size_t task, Seconds from_s = 0) const;
  // Takes what the task needs from `start_s` on.
  void take(std::size_t task, Seconds start_s);

 private:
  struct Segment {
    Seconds from_s = 0;  // until the next one's; the last has no end
    std::int64_t memory_mb = 0;
    int gpu = 0;
    int lanes = 0;
  };
  [[nodiscard]] std::size_t cut_at(Seconds at, std::size_t hint);

  const Instance& instance_;
  std::size_t board_ = 0;
  int lanes_ = 1;
  bool plain_serial_ = false;  // mode S and never closed: only the end matters
  Seconds end_s_ = 0;
  std::vector<Segment> segments_;
};

// What an order makes of a board.
struct BoardResult {
  Seconds finish_s = 0;  // kForever: the tasks do not fit before the board closes for good
  std::int64_t missed_weight = 0;
  Seconds late_s = 0;  // by how much, weighted, deadlines are missed
};

// `starts`, if given, gets the start of each task of the order, by its number. Running tasks are
// put first whatever their place in the order.
[[nodiscard]] BoardResult run_order(const Instance& instance, Timetable& timetable,
                                    std::size_t board, const Order& order,
                                    std::vector<Seconds>* starts = nullptr);

// The placements that orders, one per board, give; `starts` by task.
[[nodiscard]] std::vector<Placed> place_orders(const Instance& instance,
                                               const std::vector<Order>& orders);

// The orders that a plan stands for: the tasks of each board by their starts.
[[nodiscard]] std::vector<Order> orders_of(const Instance& instance,
                                           const std::vector<Placed>& placed);

}  // namespace laird::placement
