// The second search: boards and orders together, judged by real timetables. It sees what sums do
// not: how tasks fit beside each other, deadlines, closed windows, data that must come first.
//
// Source: simulated annealing over orders of the serial schedule generation scheme
// (planner/timetable.hpp). A move takes a task out of an order and puts it into the same or another
// one, or exchanges two tasks of two boards; only the touched boards are timed again.
#pragma once

#include "agent/placement/search/row_search.hpp"
#include "agent/placement/search/starts.hpp"

namespace laird::placement {

class OrderSearch {
 public:
  OrderSearch(const Instance& instance, std::uint64_t seed);

  void start(std::vector<Order> orders);
  // Spends about `steps`; `target_s` is what no plan can beat. `miss_price`: what missing all
  // deadlines costs on the way, where 1 is a makespan of twice the target. Cheap misses let the
  // search cross from one good plan to another; what is kept is the best by the objective.
  void improve(Seconds target_s, double miss_price, std::uint64_t steps, Steering& steering);
  // Takes the single moves that make the later parts of the objective better and none worse.
  void economise(Steering& steering);

  [[nodiscard]] const std::vector<Order>& best() const { return best_; }
  [[nodiscard]] const Objective& best_objective() const { return best_objective_; }

 private:
  struct Touched {
    std::size_t board = 0;
    Order order;
    BoardResult result;
  };
  [[nodiscard]] bool draw(std::size_t* count);
  [[nodiscard]] bool draw_exchange(std::size_t from, std::size_t place);
  [[nodiscard]] bool draw_insert(std::size_t from, std::size_t place, std::size_t* count);
  [[nodiscard]] bool apart_allows(int task, std::size_t board, int leaving) const;
  [[nodiscard]] std::uint64_t time_touched(std::size_t count);
  [[nodiscard]] double energy() const;
  [[nodiscard]] double energy_with(std::size_t count) const;
  [[nodiscard]] Objective objective() const;
  void exchange_touched(std::size_t count);
  void add_energy(const BoardResult& result, double sign, double* fourths, double* misses) const;
  void find_worst();
  void keep_if_best(Steering& steering);

  const Instance& instance_;
  SearchRandom random_;
  Acceptance acceptance_;
  Timetable timetable_;
  bool has_apart_ = false;
  double weight_sum_ = 1.0;
  double target_ = 1.0;
  double miss_price_ = 0.0;
  std::vector<Order> orders_;
  std::vector<BoardResult> results_;
  std::vector<int> at_;  // by task: its board
  double fourths_ = 0.0;
  double misses_ = 0.0;
  std::size_t worst_ = 0;
  Touched touched_[2];
  std::vector<Order> best_;
  Objective best_objective_;
};

// The objective of orders, by their timetables.
[[nodiscard]] Objective judge_orders(const Instance& instance, const std::vector<Order>& orders);

}  // namespace laird::placement
