// What any plan must keep to on a board, as sums: the rows of the linear relaxation, which the
// certified bound is made from and which the first search balances.
//
// Source: the area rows are plain (time x part of a resource <= capacity x makespan). The others
// round the parts by dual feasible functions (Fekete and Schepers, 2001): f with "sum x <= 1
// implies sum f(x) <= 1", so time x f(part) summed over a board is a bound on its makespan as well:
//     u_k(x) = x if (k + 1) x is whole, else floor((k + 1) x) / k             k = 1, 2, 3
//     U_e(x) = 0 for x < e, x for e <= x <= 1 - e, 1 for x > 1 - e            0 < e <= 1/2
// Symbols: x a task's part of a resource of a board; a row is one resource under one function.
// Boards that are alike for every task form a group and share their rows: the relaxation treats
// them the same, so a hundred boards of three kinds cost as much as three.
#pragma once

#include <cstddef>
#include <vector>

#include "agent/placement/planner/instance.hpp"

namespace laird::placement {

struct Rows {
  std::size_t groups = 0;
  std::size_t rows = 0;                  // of each group
  std::vector<std::size_t> group_of;     // by board
  std::vector<std::vector<int>> boards;  // by group
  std::vector<Seconds> time_s;           // by task, then group; 0: the task may not be there
  std::vector<double> part_s;            // by task, group, row: seconds of the row

  [[nodiscard]] const double* parts(std::size_t task, std::size_t group) const {
    return &part_s[(task * groups + group) * rows];
  }
  [[nodiscard]] Seconds time(std::size_t task, std::size_t group) const {
    return time_s[task * groups + group];
  }
};

[[nodiscard]] Rows rows_of(const Instance& instance);

// The functions, in the open for their tests; x = part / whole, both whole numbers.
[[nodiscard]] double rounded_by_steps(std::int64_t part, std::int64_t whole, int k);
[[nodiscard]] double rounded_at_ends(std::int64_t part, std::int64_t whole, std::int64_t e);

}  // namespace laird::placement
