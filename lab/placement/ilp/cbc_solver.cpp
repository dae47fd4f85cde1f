#include <coin/Cbc_C_Interface.h>

#include <limits>
#include <string>

#include "lab/placement/ilp/ilp.hpp"

namespace laird::lab {
namespace {

struct Free {
  void operator()(void* model) const { Cbc_deleteModel(model); }
};

// The rows as CBC wants them: by column.
struct Columns {
  std::vector<CoinBigIndex> start;
  std::vector<int> row;
  std::vector<double> factor;
};

Columns by_column(const Ilp& ilp) {
  std::vector<std::vector<std::pair<int, double>>> columns(ilp.cost.size());
  for (std::size_t r = 0; r < ilp.rows.size(); ++r) {
    for (const auto& [column, factor] : ilp.rows[r].terms) {
      columns[static_cast<std::size_t>(column)].emplace_back(static_cast<int>(r), factor);
    }
  }
  Columns out;
  out.start.push_back(0);
  for (const auto& column : columns) {
    for (const auto& [row, factor] : column) {
      out.row.push_back(row);
      out.factor.push_back(factor);
    }
    out.start.push_back(static_cast<CoinBigIndex>(out.row.size()));
  }
  return out;
}

class CbcSolver final : public IlpSolver {
 public:
  Result<IlpAnswer> solve(const Ilp& ilp, double seconds_max) override {
    const std::unique_ptr<void, Free> owned(Cbc_newModel());
    Cbc_Model* model = owned.get();
    const Columns columns = by_column(ilp);
    std::vector<double> zero(ilp.cost.size(), 0.0);
    std::vector<double> low;
    std::vector<double> high;
    for (const IlpRow& row : ilp.rows) {
      low.push_back(row.low);
      high.push_back(row.high);
    }
    Cbc_setParameter(model, "log", "0");
    Cbc_setParameter(model, "timeMode", "cpu");
    Cbc_setParameter(model, "sec", std::to_string(seconds_max).c_str());
    Cbc_loadProblem(model, static_cast<int>(ilp.cost.size()), static_cast<int>(ilp.rows.size()),
                    columns.start.data(), columns.row.data(), columns.factor.data(), zero.data(),
                    ilp.high.data(), ilp.cost.data(), low.data(), high.data());
    for (std::size_t i = 0; i < ilp.whole.size(); ++i) {
      if (ilp.whole[i]) Cbc_setInteger(model, static_cast<int>(i));
    }
    Cbc_solve(model);
    const double* values = Cbc_bestSolution(model);
    if (values == nullptr) {
      return fail(Code::kUnavailable, Cbc_isProvenInfeasible(model) != 0
                                          ? "the programme has no solution"
                                          : "CBC found no solution in the time it had");
    }
    IlpAnswer out;
    out.values.assign(values, values + ilp.cost.size());
    out.cost = Cbc_getObjValue(model);
    out.bound = Cbc_getBestPossibleObjValue(model);
    out.proved = Cbc_isProvenOptimal(model) != 0;
    return out;
  }
};

}  // namespace

std::unique_ptr<IlpSolver> make_ilp_solver() { return std::make_unique<CbcSolver>(); }

}  // namespace laird::lab
