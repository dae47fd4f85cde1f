#include "lab/placement/study.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/random.hpp"
#include "lab/placement/instances.hpp"
#include "lab/placement/runs.hpp"

namespace laird::lab {
namespace {

using json::Value;

double utilisation(const placement::Instance& instance, const placement::Plan& plan) {
  double used = 0.0;
  double whole = 0.0;
  for (const placement::PlannedBoard& b : instance.boards) {
    whole += static_cast<double>(b.gpu) * static_cast<double>(plan.objective.makespan_s);
  }
  for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
    const placement::Choice& c = instance.choice(t, static_cast<std::size_t>(plan.tasks[t].board));
    used += static_cast<double>(c.time_s) * c.gpu;
  }
  return whole > 0.0 ? used / whole : 0.0;
}

double weight_met(const placement::Instance& instance, const placement::Plan& plan) {
  double weight = 0.0;
  for (const placement::PlannedTask& t : instance.tasks) {
    if (t.deadline_s < placement::kForever) weight += static_cast<double>(t.weight);
  }
  return weight > 0.0 ? 1.0 - static_cast<double>(plan.objective.missed_weight) / weight : 1.0;
}

void add_run(const placement::Instance& instance, const Result<RunResult>& r, StudyRow& row) {
  ++row.runs;
  if (!r) {
    if (row.failed++ == 0) row.error = r.error().context;
    return;
  }
  row.makespan_h += static_cast<double>(r->plan.objective.makespan_s) / 3600.0;
  row.gap += placement::gap_of(r->plan);
  row.gap_max = std::max(row.gap_max, placement::gap_of(r->plan));
  row.utilisation += utilisation(instance, r->plan);
  row.cpu_s += r->cpu_s;
  row.first_plan_s =
      std::max(row.first_plan_s, r->trace.empty() ? r->cpu_s : r->trace.front().first);
  row.weight_met += weight_met(instance, r->plan);
}

void take_means(StudyRow& row) {
  const auto good = static_cast<double>(row.runs - row.failed);
  if (good < 1.0) return;
  for (double* sum : {&row.makespan_h, &row.gap, &row.utilisation, &row.cpu_s, &row.weight_met}) {
    *sum /= good;
  }
}

}  // namespace

void give_deadlines(placement::Instance& instance, std::uint64_t seed) {
  SplitMix64 chance{spread_seed(seed ^ 0xdead)};
  std::vector<placement::Seconds> shortest(instance.tasks.size(), placement::kForever);
  double sum = 0.0;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    for (std::size_t b = 0; b < instance.boards.size(); ++b) {
      if (instance.may_run(t, b)) shortest[t] = std::min(shortest[t], instance.choice(t, b).time_s);
    }
    sum += static_cast<double>(shortest[t]);
  }
  // As if every board were the task's fastest: shorter than any plan, so not all can be met.
  const double span = 1.5 * sum / static_cast<double>(instance.boards.size());
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const double at =
        static_cast<double>(shortest[t]) * (1.2 + chance.unit()) + span * chance.unit();
    instance.tasks[t].deadline_s = static_cast<placement::Seconds>(at);
    instance.tasks[t].weight = 1 + static_cast<std::int64_t>(chance.next() % 5);
  }
}

Result<std::vector<StudyRow>> run_study(const StudyOptions& options,
                                        void (*say)(const std::string&)) {
  std::vector<StudyRow> out;
  for (const std::string& tasks : options.tasks) {
    for (const std::string& mode : options.modes) {
      for (const std::string& solver : options.solvers.empty() ? solver_names() : options.solvers) {
        if (solver == "cbc" && mode == "C") continue;  // the exact programme is for mode S
        StudyRow row;
        row.tasks = tasks;
        row.mode = mode;
        row.solver = solver;
        for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
          const std::string on = ":" + std::to_string(options.boards);
          const std::string name = options.paper ? "paper" + tasks + on
                                                 : "gen:" + tasks + on + ":" + std::to_string(seed);
          Result<placement::ReadInstance> read = find_instance(name);
          LAIRD_TRY(read);
          read->instance.mode =
              mode == "S" ? placement::Mode::kSerial : placement::Mode::kConcurrent;
          if (options.deadlines) give_deadlines(read->instance, seed);
          if (say != nullptr) say(name + " " + mode + " " + solver);
          add_run(read->instance, run_solver(read->instance, {solver, options.seconds, 0, seed}),
                  row);
        }
        take_means(row);
        out.push_back(std::move(row));
      }
    }
  }
  return out;
}

std::string study_text(const std::vector<StudyRow>& rows) {
  char line[200];
  std::snprintf(line, sizeof line, "%6s %4s %-9s %10s %9s %9s %8s %9s %9s %10s\n", "tasks", "mode",
                "solver", "makespan h", "gap", "worst", "GPU use", "in time", "CPU s",
                "first plan");
  std::string out = line;
  for (const StudyRow& r : rows) {
    if (r.failed == r.runs) {
      out += r.tasks + " " + r.mode + " " + r.solver + ": " + r.error + "\n";
      continue;
    }
    std::snprintf(line, sizeof line,
                  "%6s %4s %-9s %10.3f %8.3f%% %8.3f%% %7.1f%% %8.1f%% %9.4f %7.1f ms\n",
                  r.tasks.c_str(), r.mode.c_str(), r.solver.c_str(), r.makespan_h, 100.0 * r.gap,
                  100.0 * r.gap_max, 100.0 * r.utilisation, 100.0 * r.weight_met, r.cpu_s,
                  1e3 * r.first_plan_s);
    out += line;
    if (r.failed > 0) out += "       " + std::to_string(r.failed) + " failed: " + r.error + "\n";
  }
  return out;
}

Value study_json(const std::vector<StudyRow>& rows) {
  Value out = Value::array();
  for (const StudyRow& r : rows) {
    out.add(Value::object()
                .set("tasks", r.tasks)
                .set("mode", r.mode)
                .set("solver", r.solver)
                .set("runs", r.runs)
                .set("failed", r.failed)
                .set("makespan_h", r.makespan_h)
                .set("gap", r.gap)
                .set("gap_max", r.gap_max)
                .set("gpu_use", r.utilisation)
                .set("deadline_weight_met", r.weight_met)
                .set("cpu_s", r.cpu_s)
                .set("first_plan_s", r.first_plan_s));
  }
  return out;
}

}  // namespace laird::lab
