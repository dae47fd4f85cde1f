// laird-lab watts: one power budget for many boards, divided in different ways.
#include <array>
#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/commands.hpp"
#include "lab/watts/page.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::lab {
namespace {

// The modules of the fleets, small and large ones in turn.
constexpr std::array<const char*, 6> kModules = {"nano-4gb",      "orin-nx-16gb",  "xavier-nx-8gb",
                                                 "agx-orin-32gb", "orin-nano-8gb", "tx2"};
constexpr std::array kAll = {Strategy::kEqual, Strategy::kSize,    Strategy::kBefore,
                             Strategy::kOurs,  Strategy::kCentral, Strategy::kOracle};
static_assert(kAll.size() == kStrategies);

struct Options {
  std::string folder = "../shared/data/curves";
  std::vector<std::size_t> boards;
  std::vector<double> budgets;
  std::vector<std::string> strategies;
  std::size_t seeds = 100;
  std::uint64_t first_seed = 1;
  std::size_t jobs = 1;
  std::string page;
  bool json = false;
};

json::Value to_json(const WattsTable& table) {
  json::Value strategies = json::Value::array();
  for (const WattsScore& s : table.scores) {
    strategies.add(json::Value::object()
                       .set("name", std::string(name(s.strategy)))
                       .set("successes", s.successes)
                       .set("stderr", s.standard_error)
                       .set("joules_per_success", s.joules_per_success)
                       .set("waste", s.waste)
                       .set("over", s.over));
  }
  return json::Value::object()
      .set("boards", table.boards)
      .set("budget", table.budget)
      .set("runs", table.runs)
      .set("tasks", table.tasks)
      .set("strategies", std::move(strategies));
}

void print_table(const WattsTable& table) {
  std::printf(
      "%zu boards, budget %.0f%% of what all could draw: %zu runs, tasks of weight %.1f in "
      "each\n\n",
      table.boards, 100.0 * table.budget, table.runs, table.tasks);
  std::printf("%-10s %10s %6s %10s %7s %7s %9s\n", "strategy", "successes", "+-", "J/success",
              "waste", "over", "cpu s/run");
  for (const WattsScore& s : table.scores) {
    std::printf("%-10s %10.2f %6.2f %10.0f %6.2f%% %6.2f%% %9.3f\n", name(s.strategy).data(),
                s.successes, s.standard_error, s.joules_per_success, 100.0 * s.waste,
                100.0 * s.over, s.cpu_seconds / static_cast<double>(table.runs));
  }
  std::printf("\n");
}

Result<WattsStudy> study_of(const Options& options, const std::vector<Curve>& curves) {
  WattsStudy study;
  study.curves = &curves;
  study.runs = options.seeds;
  study.first_seed = options.first_seed;
  study.jobs = options.jobs;
  for (const char* module : kModules) {
    auto board = power::find_board(module, "");
    LAIRD_TRY(board);
    study.modules.push_back(std::move(*board));
  }
  for (const Strategy strategy : kAll) {
    const bool chosen = options.strategies.empty() ||
                        std::find(options.strategies.begin(), options.strategies.end(),
                                  name(strategy)) != options.strategies.end();
    if (chosen) study.strategies.push_back(strategy);
  }
  return study;
}

Status write_page(const Options& options, const WattsStudy& study,
                  const std::vector<WattsTable>& tables) {
  const WattsWorkload first =
      draw_watts(study.modules, *study.curves, study.boards, study.first_seed);
  const auto budget_mw =
      static_cast<std::int64_t>(study.budget * static_cast<double>(first.most_mw()));
  std::vector<WattsTrace> traces;
  for (const Strategy strategy : study.strategies) {
    traces.push_back({strategy, run_watts(first, budget_mw, strategy, study.first_seed)});
  }
  LAIRD_TRY(config::write_file(options.page,
                               watts_page(tables, static_cast<double>(budget_mw) * 1e-3, traces)));
  std::fprintf(stderr, "wrote %s\n", options.page.c_str());
  return {};
}

Status run(const Options& options) {
  const auto curves = load_curves(options.folder);
  if (!curves) {
    return fail(curves.error().code, curves.error().text() +
                                         "; name a folder of learning curves with --curves "
                                         "(docs/experiments.md says what is in one)");
  }
  if (curves->curves.empty()) {
    return fail(Code::kNotFound, options.folder + ": no learning curves (*.csv) in it");
  }
  auto study = study_of(options, curves->curves);
  LAIRD_TRY(study);
  std::vector<WattsTable> tables;
  for (const std::size_t boards : options.boards) {
    for (const double budget : options.budgets) {
      study->boards = boards;
      study->budget = budget;
      tables.push_back(run_watts_study(*study));
      if (!options.json) print_table(tables.back());
    }
  }
  if (!options.page.empty()) {
    LAIRD_TRY(write_page(options, *study, tables));
  }
  if (!options.json) return {};
  json::Value all = json::Value::array();
  for (const WattsTable& table : tables) all.add(to_json(table));
  std::printf("%s\n", json::to_pretty_text(all).c_str());
  return {};
}

}  // namespace

void add_watts(cli::Command& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  cli::Command* command = app.add_subcommand(
      "watts",
      "divide one power budget over many boards in different ways, and count what comes "
      "of it");
  command->add_option("--curves", options->folder,
                      "real learning curves: *.csv, manifest.json (default ../shared/data/curves)");
  command->add_option("--boards", options->boards, "8 and 24 unless given; may be given many times")
      ->check(cli::range(2, 200));
  command
      ->add_option(
          "--budget", options->budgets,
          "part of what all boards could draw; 0.4, 0.6 and 0.8 unless given; may be given "
          "many times")
      ->check(cli::range(0.2, 1.0));
  command->add_option("--seeds,--runs", options->seeds, "how many workloads")
      ->check(cli::range(1, 100'000));
  command->add_option("--first-seed", options->first_seed, "of the first workload");
  command->add_option("--strategy", options->strategies, "only these; may be given many times")
      ->check(cli::one_of({"equal", "size", "before", "ours", "central", "oracle"}));
  command->add_option("--jobs", options->jobs, "threads")->check(cli::range(1, 256));
  command->add_option("--page", options->page, "also draw it as HTML");
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Example:\n"
      "  laird-lab watts --boards 8 --budget 0.6 --seeds 100\n"
      "  laird-lab watts --boards 24 --seeds 20 --jobs 2 --page watts.html\n"
      "Successes count by the weight of the task. Waste is the part of budget times time that\n"
      "nobody drew while some task was throttled. 'over' is the most that was drawn above the\n"
      "budget, as a mean of five seconds.");
  command->callback([options, &code] {
    if (options->boards.empty()) options->boards = {8, 24};
    if (options->budgets.empty()) options->budgets = {0.4, 0.6, 0.8};
    const Status status = run(*options);
    if (status) return;
    std::fprintf(stderr, "laird-lab watts: %s\n", status.error().text().c_str());
    code.value = 1;
  });
}

}  // namespace laird::lab
