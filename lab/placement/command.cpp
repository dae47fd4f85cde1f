// laird-lab placement: the planner and its peers on the paper's instances, generated ones and
// files.
#include "lab/placement/command.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "agent/placement/planner/plan_json.hpp"
#include "agent/placement/planner/split.hpp"
#include "agent/placement/planner/verify.hpp"
#include "agent/placement/search/explain.hpp"
#include "cli/command.hpp"
#include "config/schema.hpp"
#include "config/units.hpp"
#include "lab/placement/first_any.hpp"
#include "lab/placement/gap.hpp"
#include "lab/placement/instances.hpp"
#include "lab/placement/runs.hpp"
#include "lab/placement/study.hpp"

namespace laird::lab {
namespace {

using json::Value;

int complain(const Error& error) {
  std::fprintf(stderr, "laird-lab placement: %s\n", error.text().c_str());
  return error.code == Code::kInvalid || error.code == Code::kNotFound ? 2 : 1;
}

struct SolveOptions {
  std::string instance;
  std::string mode;
  std::string time = "1s";
  RunOptions run;
  std::string plan;
  std::string explain;
  std::string page;
  bool json = false;
};

Value solve_json(const placement::Instance& instance, const RunResult& r) {
  Value trace = Value::array();
  for (const auto& [cpu, makespan] : r.trace) {
    trace.add(Value::array().add(cpu).add(makespan));
  }
  std::int64_t weight = 0;
  std::int64_t deadlines = 0;
  std::int64_t met = 0;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    if (instance.tasks[t].deadline_s >= placement::kForever) continue;
    weight += instance.tasks[t].weight;
    ++deadlines;
    met += placement::in_time(instance, r.plan, t) ? 1 : 0;
  }
  const placement::Objective& o = r.plan.objective;
  return Value::object()
      .set("instance", instance.name)
      .set("mode", placement::name(instance.mode))
      .set("solver", r.plan.solver)
      .set("tasks", instance.tasks.size())
      .set("boards", instance.boards.size())
      .set("makespan_s", o.makespan_s)
      .set("bound_s", r.plan.bound_s)
      .set("gap", placement::gap_of(r.plan))
      .set("proved", r.proved)
      .set("deadlines", deadlines)
      .set("deadlines_met", met)
      .set("deadline_weight", weight)
      .set("deadline_weight_met", weight - o.missed_weight)
      .set("energy_j", o.energy_j)
      .set("cpu_s", r.cpu_s)
      .set("trace", std::move(trace));
}

Result<placement::ReadInstance> prepared(const SolveOptions& o) {
  Result<placement::ReadInstance> read = find_instance(o.instance);
  LAIRD_TRY(read);
  for (const std::string& note : read->ignored) {
    std::fprintf(stderr, "laird-lab placement: %s: %s\n", o.instance.c_str(), note.c_str());
  }
  if (!o.mode.empty()) {
    read->instance.mode = o.mode == "S" ? placement::Mode::kSerial : placement::Mode::kConcurrent;
  }
  Result<placement::Split> split = placement::split_oversized(
      read->instance, o.run.solver == "membatch" ? placement::SplitRule::kSmallestBoard
                                                 : placement::SplitRule::kFitsNone);
  LAIRD_TRY(split);
  if (split->instance.tasks.size() != read->instance.tasks.size()) {
    // The plan is of the instance with the parts, which has a name of its own.
    read->instance = std::move(split->instance);
    read->hash = placement::hash_of(placement::instance_json(read->instance));
  }
  return read;
}

int explain_task(const placement::Instance& instance, const placement::Plan& plan,
                 const std::string& name) {
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    if (instance.tasks[t].name != name) continue;
    std::fputs(
        placement::explanation_text(instance, plan, placement::explain(instance, plan, t)).c_str(),
        stdout);
    return 0;
  }
  return complain({Code::kNotFound, "the instance has no task '" + name + "'", 0});
}

int solve_one(SolveOptions o) {
  const Result<DurationNs> time = config::parse_duration(o.time);
  if (!time) return complain(time.error());
  o.run.seconds = static_cast<double>(*time) * 1e-9;
  const Result<placement::ReadInstance> read = prepared(o);
  if (!read) return complain(read.error());
  const Result<RunResult> r = run_solver(read->instance, o.run);
  if (!r) return complain(r.error());
  if (!o.plan.empty()) {
    const std::string text =
        json::to_pretty_text(placement::plan_json(read->instance, read->hash, r->plan));
    if (const Status ok = config::write_file(o.plan, text); !ok) return complain(ok.error());
  }
  if (!o.page.empty()) {
    const Status ok = config::write_file(o.page, plan_page(read->instance, r->plan));
    if (!ok) return complain(ok.error());
  }
  if (o.json) {
    std::printf("%s\n", json::to_text(solve_json(read->instance, *r)).c_str());
    return 0;
  }
  std::printf("%s, mode %s: %zu tasks on %zu boards, solver %s\n", read->instance.name.c_str(),
              std::string(placement::name(read->instance.mode)).c_str(),
              read->instance.tasks.size(), read->instance.boards.size(), r->plan.solver.c_str());
  std::printf("makespan %lld s, no plan is below %lld s, gap %.3f%%%s, %.3f s of CPU\n",
              static_cast<long long>(r->plan.objective.makespan_s),
              static_cast<long long>(r->plan.bound_s), 100.0 * placement::gap_of(r->plan),
              r->proved ? " (proved best)" : "", r->cpu_s);
  return o.explain.empty() ? 0 : explain_task(read->instance, r->plan, o.explain);
}

int check_plan(const std::string& instance_name, const std::string& plan_path) {
  Result<placement::ReadInstance> read = find_instance(instance_name);
  if (!read) return complain(read.error());
  const Result<std::string> text =
      config::read_file(plan_path, placement::instance_limits().bytes_max);
  if (!text) return complain(text.error());
  const Result<Value> document = json::parse(*text, plan_path, placement::instance_limits());
  if (!document) return complain(document.error());
  // A plan may be of the other mode than the instance names: it is judged by its own.
  if (const Value* mode = document->find("mode", json::Kind::kString)) {
    read->instance.mode =
        mode->as_string() == "S" ? placement::Mode::kSerial : placement::Mode::kConcurrent;
  }
  const Result<placement::Plan> plan = placement::read_plan(*document, *read);
  const Status ok =
      plan ? placement::verify(read->instance, *plan) : Status(tl::make_unexpected(plan.error()));
  if (!ok) {
    std::printf("broken: %s\n", ok.error().context.c_str());
    return 1;
  }
  std::printf("kept: %zu tasks, makespan %lld s\n", read->instance.tasks.size(),
              static_cast<long long>(plan->objective.makespan_s));
  return 0;
}

int print_instance(const std::string& name) {
  const Result<placement::ReadInstance> read = find_instance(name);
  if (!read) return complain(read.error());
  std::printf("%s\n", json::to_text(placement::instance_json(read->instance)).c_str());
  return 0;
}

struct GapOptions {
  std::string folder;
  std::string solver = "search";
  std::string time = "1s";
  std::uint64_t seed = 1;
  bool json = false;
};

int run_gap(const GapOptions& o) {
  const Result<DurationNs> time = config::parse_duration(o.time);
  if (!time) return complain(time.error());
  const Result<std::vector<GapProblem>> problems = read_gap_problems(o.folder);
  if (!problems) return complain(problems.error());
  const std::unique_ptr<IlpSolver> solver = make_ilp_solver();
  if (o.solver == "cbc" && solver == nullptr) {
    return complain({Code::kUnavailable, "built without CBC; install coinor-libcbc-dev", 0});
  }
  const double seconds = static_cast<double>(*time) * 1e-9;
  Value rows = Value::array();
  double sum = 0.0;
  int found = 0;
  int matched = 0;
  for (const GapProblem& p : *problems) {
    const GapRun r =
        o.solver == "cbc" ? ilp_gap(p, *solver, seconds) : search_gap(p, seconds, o.seed);
    const double gap = r.cost / p.best_known - 1.0;
    if (r.cost >= 0.0) {
      ++found;
      sum += gap;
      matched += r.proved || r.cost <= p.best_known + 0.5 ? 1 : 0;
    }
    rows.add(Value::object()
                 .set("name", p.name)
                 .set("cost", r.cost)
                 .set("best_known", p.best_known)
                 .set("gap", gap)
                 .set("proved", r.proved)
                 .set("cpu_s", r.cpu_s));
    if (o.json) continue;
    std::printf("%-24s %10.0f, best known %10.0f, gap %7.3f%%%s, %.2f s of CPU\n", p.name.c_str(),
                r.cost, p.best_known, 100.0 * gap, r.proved ? ", proved best" : "", r.cpu_s);
    std::fflush(stdout);
  }
  const double mean = found > 0 ? sum / found : 0.0;
  if (o.json) {
    std::printf("%s\n", json::to_text(Value::object()
                                          .set("solver", o.solver)
                                          .set("problems", problems->size())
                                          .set("solved", found)
                                          .set("matched", matched)
                                          .set("gap_mean", mean)
                                          .set("runs", std::move(rows)))
                            .c_str());
  } else {
    std::printf("%d of %zu solved, %d with the best value known or proved, mean gap %.3f%%\n",
                found, problems->size(), matched, 100.0 * mean);
  }
  return found == static_cast<int>(problems->size()) ? 0 : 1;
}

void add_gap(cli::Command& parent, ExitCode& code) {
  const auto o = std::make_shared<GapOptions>();
  cli::Command* cmd = parent.add_subcommand(
      "gap",
      "Public instances of the generalized assignment problem: cost within capacities.\n"
      "Example: laird-lab placement gap FOLDER --solver cbc --time 10s");
  cmd->add_option("folder", o->folder, "Holds data.csv and the files that it names")->required();
  cmd->add_option("--solver", o->solver, "search: the planner's cost search; cbc: the ILP solver")
      ->check(cli::one_of({"search", "cbc"}))
      ->show_default();
  cmd->add_option("--time", o->time, "CPU time of each")->show_default();
  cmd->add_option("--seed", o->seed, "Seed of the search")->show_default();
  cmd->add_flag("--json", o->json, "One line of JSON");
  cmd->callback([o, &code] { code.value = run_gap(*o); });
}

void add_solve(cli::Command& parent, ExitCode& code) {
  const auto o = std::make_shared<SolveOptions>();
  cli::Command* cmd = parent.add_subcommand("solve",
                                            "Plan one instance.\n"
                                            "Example: laird-lab placement solve --instance "
                                            "gen:100:8:1 --mode C --time 1s --plan plan.json");
  cmd->add_option("--instance", o->instance, "A file, paperTASKS:BOARDS or gen:TASKS:BOARDS:SEED")
      ->required();
  cmd->add_option("--mode", o->mode, "S: one task at a time on a board; C: as many as fit")
      ->check(cli::one_of({"S", "C"}));
  cmd->add_option("--time", o->time, "CPU time of the search, or of each programme of the others")
      ->show_default();
  cmd->add_option("--steps", o->run.steps,
                  "Steps of the search instead of a time: the same plan on every machine");
  cmd->add_option("--seed", o->run.seed, "Seed of the search")->show_default();
  cmd->add_option(
         "--solver", o->run.solver,
         "search: laird's own; the paper's membatch, baseline and fcfs; cbc: exact, mode S")
      ->check(cli::one_of({"search", "membatch", "baseline", "fcfs", "cbc"}))
      ->show_default();
  cmd->add_option("--plan", o->plan, "Write the plan to this file");
  cmd->add_option("--page", o->page, "Write a page that draws the plan to this file");
  cmd->add_option("--explain", o->explain,
                  "Say why this task is where it is, and what else it could be");
  cmd->add_flag("--json", o->json, "One line of JSON");
  cmd->callback([o, &code] { code.value = solve_one(*o); });
}

void add_check(cli::Command& parent, ExitCode& code) {
  const auto files = std::make_shared<std::pair<std::string, std::string>>();
  cli::Command* cmd = parent.add_subcommand(
      "check",
      "Check a plan against its instance: exit code 0 if it keeps every rule, else 1 and why.\n"
      "Example: laird-lab placement check gen:100:8:1 plan.json");
  cmd->add_option("instance", files->first, "As in solve")->required();
  cmd->add_option("plan", files->second, "A file of the format laird.plan/1")->required();
  cmd->callback([files, &code] { code.value = check_plan(files->first, files->second); });
}

void add_instance(cli::Command& parent, ExitCode& code) {
  const auto name = std::make_shared<std::string>();
  cli::Command* cmd =
      parent.add_subcommand("instance",
                            "Print an instance as JSON, for other programs.\n"
                            "Example: laird-lab placement instance gen:100:8:1 > instance.json");
  cmd->add_option("instance", *name, "As in solve")->required();
  cmd->callback([name, &code] { code.value = print_instance(*name); });
}

struct StudyWords {
  StudyOptions study;
  std::string of = "paper";
  std::string time = "1s";
  std::string page;
  int boards = 7;
  bool json = false;
};

int run_the_study(StudyWords o) {
  const Result<DurationNs> time = config::parse_duration(o.time);
  if (!time) return complain(time.error());
  o.study.seconds = static_cast<double>(*time) * 1e-9;
  o.study.paper = o.of == "paper";
  o.study.boards = static_cast<std::size_t>(o.boards);
  const bool show = isatty(STDERR_FILENO) != 0;
  void (*const say)(const std::string&) = [](const std::string& what) {
    std::fprintf(stderr, "\r\033[K%s", what.c_str());
  };
  const auto rows = run_study(o.study, show ? say : nullptr);
  if (show) std::fprintf(stderr, "\r\033[K");
  if (!rows) return complain(rows.error());
  const std::string text = o.json ? json::to_text(study_json(*rows)) + "\n" : study_text(*rows);
  std::fputs(text.c_str(), stdout);
  if (o.page.empty()) return 0;
  const Status ok = config::write_file(o.page, study_page(o.study, *rows));
  return ok ? 0 : complain(ok.error());
}

void add_study(cli::Command& parent, ExitCode& code) {
  const auto o = std::make_shared<StudyWords>();
  cli::Command* cmd =
      parent.add_subcommand("study",
                            "Solvers beside each other on the paper's tasks or on generated ones.\n"
                            "Example: laird-lab placement study --of gen --tasks 50,100 --boards 8 "
                            "--seeds 10 --solver search,fcfs");
  cmd->add_option("--of", o->of, "paper: its five workloads in turn; gen: drawn from them by seed")
      ->check(cli::one_of({"paper", "gen"}))
      ->show_default();
  cmd->add_option("--tasks", o->study.tasks, "Numbers of tasks, with commas between")
      ->delimiter(',');
  cmd->add_option("--boards", o->boards, "Boards: 7 as the paper's workers, 8 with its head")
      ->check(cli::range(1, 1000))
      ->show_default();
  cmd->add_option("--mode", o->study.modes, "S, C or both")->delimiter(',');
  cmd->add_option("--solver", o->study.solvers, "Which; all that this program has if not given")
      ->delimiter(',');
  cmd->add_option("--seeds", o->study.seeds, "Instances and searches of each kind")->show_default();
  cmd->add_option("--time", o->time, "CPU time of a search, or of each integer programme")
      ->show_default();
  cmd->add_flag("--deadlines", o->study.deadlines, "Give the tasks deadlines and weights");
  cmd->add_option("--page", o->page, "Write a page with the table and plots to this file");
  cmd->add_flag("--json", o->json, "JSON instead of a table");
  cmd->callback([o, &code] { code.value = run_the_study(*o); });
}

void add_first_any(cli::Command& parent, ExitCode& code) {
  const auto o = std::make_shared<FirstAnyOptions>();
  const auto as_json = std::make_shared<bool>(false);
  cli::Command* cmd = parent.add_subcommand(
      "first-any",
      "Where the first task of an idle mixed fleet goes: by the planner, and by bids.\n"
      "Example: laird-lab placement first-any --trials 1000 --seed 7");
  cmd->add_option("--trials", o->trials, "Fleets and tasks of each kind")
      ->check(cli::range(1, 1'000'000))
      ->show_default();
  cmd->add_option("--seed", o->seed, "Seed of all of them")->show_default();
  cmd->add_flag("--json", *as_json, "JSON instead of a table");
  cmd->callback([o, as_json, &code] {
    const auto rows = run_first_any(*o);
    if (!rows) {
      code.value = complain(rows.error());
      return;
    }
    const std::string text =
        *as_json ? json::to_text(first_any_json(*rows)) + "\n" : first_any_text(*rows);
    std::fputs(text.c_str(), stdout);
  });
}

}  // namespace

void add_placement(cli::Command& app, ExitCode& code) {
  cli::Command* cmd =
      app.add_subcommand("placement",
                         "Plan which board runs which task, and compare planners.\n"
                         "Example: laird-lab placement solve --instance paper5:8 --mode C");
  cmd->require_subcommand();
  add_solve(*cmd, code);
  add_check(*cmd, code);
  add_instance(*cmd, code);
  add_gap(*cmd, code);
  add_study(*cmd, code);
  add_first_any(*cmd, code);
}

}  // namespace laird::lab
