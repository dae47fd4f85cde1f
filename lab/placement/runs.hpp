// One solver on one instance, timed in CPU seconds of this thread: wall time means nothing on a
// busy machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/placement/planner/plan.hpp"

namespace laird::lab {

[[nodiscard]] double cpu_seconds();

struct RunOptions {
  std::string solver = "search";  // search, membatch, baseline, fcfs, cbc
  double seconds = 1.0;           // of CPU; the ILP solvers get it per programme
  std::uint64_t steps = 0;        // of the search; 0: as many as the seconds allow
  std::uint64_t seed = 1;
};

struct RunResult {
  placement::Plan plan;  // bound_s from the certified bound, whatever the solver
  double cpu_s = 0.0;    // of the solver alone
  bool proved = false;   // the plan is the best there is
  std::vector<std::pair<double, placement::Seconds>> trace;  // CPU seconds, makespan
};

// Names of the solvers that this program was built with.
[[nodiscard]] std::vector<std::string> solver_names();

// The plan has passed verify(). Tasks that must be split must have been.
[[nodiscard]] Result<RunResult> run_solver(const placement::Instance& instance,
                                           const RunOptions& options);

}  // namespace laird::lab
