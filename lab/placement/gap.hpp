// The generalized assignment problem's public instances: the planner's cost search and the ILP
// solver against the best values known.
//
// Source of the form: the OR-Library's (Beasley, 1990): agents and jobs, then the cost and the use
// of each pair, then each agent's capacity. In the planner's words: the least energy of an
// assignment whose loads stay within a limit.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "lab/placement/ilp/ilp.hpp"

namespace laird::lab {

struct GapProblem {
  std::string name;
  std::size_t agents = 0;
  std::size_t jobs = 0;
  std::vector<int> cost;  // by job, then agent
  std::vector<int> use;   // by job, then agent
  std::vector<int> capacity;
  double best_known = 0.0;
};

struct GapRun {
  double cost = -1.0;  // -1: no assignment found
  double cpu_s = 0.0;
  bool proved = false;
};

// The problems of `folder`/data.csv whose files are there.
[[nodiscard]] Result<std::vector<GapProblem>> read_gap_problems(const std::string& folder);
[[nodiscard]] Result<GapProblem> parse_gap(const std::string& text);

[[nodiscard]] GapRun search_gap(const GapProblem& problem, double seconds, std::uint64_t seed);
[[nodiscard]] GapRun ilp_gap(const GapProblem& problem, IlpSolver& solver, double seconds);

}  // namespace laird::lab
