// The first search: which board takes which task, judged by sums alone (rows.hpp). In mode S the
// sums are the truth, in mode C they are corrected by what timetables made of them.
//
// Source: simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983) over moves and swaps. The energy
// is the 4-norm of what the boards' loads exceed a target by, as parts of the target: near to the
// largest excess, yet a move that helps a board that is not the worst is seen too. Acceptance draws
// -ln u from a table, so that no step needs a logarithm.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "agent/placement/search/rows.hpp"
#include "agent/placement/search/steering.hpp"
#include "base/random.hpp"

namespace laird::placement {

using Assignment = std::vector<int>;  // the board of each task
using SearchRandom = RandomOf<Range::kScaled>;

// -ln u for evenly spread u in (0, 1].
class Acceptance {
 public:
  Acceptance();
  // Whether to take a change that makes the energy larger by `worse` at the temperature `heat`.
  [[nodiscard]] bool take(double worse, double heat, SearchRandom& random) const {
    return worse <= 0.0 || worse < heat * table_[random.next() >> 54];
  }

 private:
  std::array<double, 1024> table_;
};

class RowSearch {
 public:
  // `apart` by task, -1 for none; empty: no task has a group.
  RowSearch(const Rows& rows, std::vector<int> apart, std::uint64_t seed);

  void start(const Assignment& assignment);
  // The bound's prices: they say which tasks can change between groups at little cost.
  void guide(const std::vector<double>& prices);
  // What a board's load is multiplied by: its timetable was that much longer than its sums.
  void correct(std::size_t board, double factor) { factor_[board] = factor; }

  // Spends about `steps` and leaves the best assignment found, by its largest corrected load.
  // `warmth`, at most 1: how hot to begin; what is nearly right already is melted by a hot start.
  void level(double target_s, double warmth, std::uint64_t steps, Steering& steering);
  // The least cost (by task, then board) with no load above the limit; what breaks the limit costs
  // `price` for each part of it. False: nothing within the limit was found.
  [[nodiscard]] bool economise(const std::vector<double>& cost, double limit_s, double price,
                               std::uint64_t steps, Steering& steering);

  [[nodiscard]] const Assignment& best() const { return best_; }
  [[nodiscard]] double best_load() const { return best_load_; }
  [[nodiscard]] double best_cost() const { return best_cost_; }
  // The largest row of a board as the present assignment loads it, not corrected.
  [[nodiscard]] double load(std::size_t board) const;
  [[nodiscard]] const Assignment& present() const { return at_; }

 private:
  struct Move {
    int task = 0;
    int other = -1;  // swapped with; -1: the task moves alone
    int from = 0;
    int to = 0;
    double from_load = 0.0;
    double to_load = 0.0;
  };
  [[nodiscard]] bool may_be(int task, int board) const {
    return rows_.time(static_cast<std::size_t>(task),
                      rows_.group_of[static_cast<std::size_t>(board)]) > 0;
  }
  [[nodiscard]] bool draw(Move& move);
  [[nodiscard]] bool draw_within(Move& move, bool swap);
  [[nodiscard]] int any_of(const std::vector<int>& tasks);
  [[nodiscard]] bool apart_allows(int task, int to, int leaving) const;
  void weigh(Move& move) const;
  void apply(const Move& move);
  void shift(int task, int from, int to);
  [[nodiscard]] double worst_load(std::size_t* board) const;

  const Rows& rows_;
  std::vector<int> apart_;
  SearchRandom random_;
  Acceptance acceptance_;
  std::size_t boards_ = 0;
  Assignment at_;
  Assignment best_;
  double best_load_ = 0.0;
  double best_cost_ = 0.0;
  std::vector<double> factor_;
  std::vector<double> sums_;          // by board, then row
  std::vector<double> loads_;         // by board: the largest of its sums, corrected
  std::vector<std::vector<int>> on_;  // by board: its tasks
  std::vector<std::size_t> place_;    // by task: where it stands in on_
  std::size_t worst_ = 0;
  std::vector<int> flexible_;
};

}  // namespace laird::placement
