// Integer linear programmes, and who solves them. The solver is a library's and not on every
// machine; a board never has one (it has the search).
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace laird::lab {

struct IlpRow {
  std::vector<std::pair<int, double>> terms;  // column, factor
  double low = 0.0;
  double high = 0.0;
};

// Minimise the sum of cost times value, all values at least 0.
struct Ilp {
  std::vector<double> cost;  // by column
  std::vector<double> high;  // by column
  std::vector<bool> whole;   // by column: integers only
  std::vector<IlpRow> rows;

  int add_column(double column_cost, double column_high, bool is_whole) {
    cost.push_back(column_cost);
    high.push_back(column_high);
    whole.push_back(is_whole);
    return static_cast<int>(cost.size()) - 1;
  }
};

struct IlpAnswer {
  std::vector<double> values;  // by column
  double cost = 0.0;
  double bound = 0.0;  // no solution costs less
  bool proved = false;
};

class IlpSolver {
 public:
  virtual ~IlpSolver() = default;
  // The best solution found within so many seconds of CPU time; an error if there is none.
  [[nodiscard]] virtual Result<IlpAnswer> solve(const Ilp& ilp, double seconds_max) = 0;
};

// CBC, or nothing where this was built without it.
[[nodiscard]] std::unique_ptr<IlpSolver> make_ilp_solver();

}  // namespace laird::lab
