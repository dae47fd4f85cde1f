#include "lab/placement/runs.hpp"

#include <time.h>

#include "agent/placement/planner/verify.hpp"
#include "agent/placement/search/bound.hpp"
#include "agent/placement/search/solve.hpp"
#include "lab/placement/paper_solvers.hpp"

namespace laird::lab {
namespace {

using placement::Plan;

Result<Plan> run_search(const placement::Instance& instance, const RunOptions& options, double from,
                        RunResult& out) {
  placement::SolveLimits limits;
  limits.seed = options.seed;
  limits.steps_max = options.steps > 0 ? options.steps : UINT64_MAX / 2;
  placement::Seconds last = -1;
  limits.go_on = [&](const placement::Progress& p) {
    const double now = cpu_seconds() - from;
    if (p.best.makespan_s != last && p.best.makespan_s < placement::kForever) {
      last = p.best.makespan_s;
      out.trace.emplace_back(now, last);
    }
    return options.steps > 0 || now < options.seconds;
  };
  return placement::solve(instance, limits);
}

Result<Plan> run_ilp(const placement::Instance& instance, const RunOptions& options,
                     RunResult& out) {
  const std::unique_ptr<IlpSolver> solver = make_ilp_solver();
  if (solver == nullptr) {
    return fail(Code::kUnavailable,
                "laird-lab was built without CBC; install coinor-libcbc-dev and "
                "configure the build again");
  }
  if (options.solver == "membatch") return membatch(instance, *solver, options.seconds);
  if (options.solver == "baseline") return baseline_ilp(instance, *solver, options.seconds);
  return exact_ilp(instance, *solver, options.seconds, &out.proved);
}

}  // namespace

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::vector<std::string> solver_names() {
  std::vector<std::string> out = {"search", "fcfs"};
  if (make_ilp_solver() != nullptr) out.insert(out.end(), {"membatch", "baseline", "cbc"});
  return out;
}

Result<RunResult> run_solver(const placement::Instance& instance, const RunOptions& options) {
  RunResult out;
  const double from = cpu_seconds();
  Result<Plan> plan = options.solver == "search" ? run_search(instance, options, from, out)
                      : options.solver == "fcfs" ? fcfs_least_loaded(instance)
                                                 : run_ilp(instance, options, out);
  out.cpu_s = cpu_seconds() - from;
  LAIRD_TRY(plan);
  if (options.solver != "search") {
    const placement::Rows rows = placement::rows_of(instance);
    const placement::Bound bound =
        placement::lower_bound(instance, rows, placement::bound_iterations(instance, rows));
    plan->bound_s = std::max(plan->bound_s, bound.bound_s);
    out.trace.emplace_back(out.cpu_s, plan->objective.makespan_s);
  }
  LAIRD_TRY(placement::verify(instance, *plan));
  out.proved = out.proved || plan->objective.makespan_s == plan->bound_s;
  out.plan = std::move(*plan);
  return out;
}

}  // namespace laird::lab
