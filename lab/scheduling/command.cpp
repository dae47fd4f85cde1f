// laird-lab laira: every policy on the same bundles of learning tasks.
#include <charconv>
#include <cstdio>
#include <memory>

#include "agent/policies/policy.hpp"
#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/commands.hpp"
#include "lab/forecast/memory.hpp"
#include "lab/scheduling/bundles.hpp"
#include "lab/scheduling/page.hpp"
#include "lab/scheduling/study.hpp"
#include "power/boards/catalogue.hpp"
#include "power/model/modelled_board.hpp"

namespace laird::lab {
namespace {

struct Options {
  std::string folder;
  std::string bundle;
  std::string scale;
  bool ablation = false;
  std::string planned_length = "known";
  std::vector<std::string> policies;
  bool earlier_runs = false;
  std::string told = "nothing";
  std::size_t bundles = 400;
  std::uint64_t seed = 1;
  std::size_t jobs = 2;
  double arrivals_until = 0.0;
  std::size_t resident_max = 0;
  double restore_units = 0.0;
  std::string board = "orin-nx-16gb";
  std::string page;
  bool json = false;
};

using Table = StudyTable;

[[nodiscard]] json::Value to_json(const StudyResult& result) {
  json::Value root = json::Value::object();
  root.set("runs", result.runs);
  root.set("oracle", result.oracle);
  json::Value policies = json::Value::array();
  for (const PolicyScore& score : result.policies) {
    json::Value p = json::Value::object();
    p.set("name", score.name);
    p.set("successes", score.successes);
    p.set("stderr", score.standard_error);
    p.set("switches", score.switches_per_task);
    p.set("of_oracle", score.of_oracle);
    p.set("energy_j", score.energy_j);
    p.set("behind_ours", score.behind_ours);
    p.set("behind_ours_stderr", score.behind_ours_error);
    policies.add(std::move(p));
  }
  root.set("policies", std::move(policies));
  return root;
}

void print_table(const Table& table) {
  const StudyResult& result = table.result;
  std::printf("%s: %zu runs of %zu tasks; oracle (all needs known) %.2f successes\n\n",
              table.title.c_str(), result.runs, table.tasks, result.oracle);
  std::printf("%-20s %9s %6s %9s %13s %12s %6s %8s %8s %14s\n", "policy", "successes", "+-",
              "of oracle", "switches/task", "behind ours", "+-", "kJ/run", "kJ/succ.",
              "task-slices/s");
  for (const PolicyScore& s : result.policies) {
    std::printf("%-20s %9.2f %6.2f %8.1f%% %13.2f %12.2f %6.2f %8.2f %8.2f %14.0f\n",
                s.name.c_str(), s.successes, s.standard_error, 100.0 * s.of_oracle,
                s.switches_per_task, s.behind_ours, s.behind_ours_error, 1e-3 * s.energy_j,
                s.successes > 0.0 ? 1e-3 * s.energy_j / s.successes : 0.0,
                s.cpu_seconds > 0.0 ? static_cast<double>(s.grants) / s.cpu_seconds : 0.0);
  }
  std::printf("\n");
}

void print(const std::vector<Table>& tables, bool as_json) {
  if (!as_json) {
    for (const Table& table : tables) print_table(table);
    return;
  }
  // The last table is the answer; where there are several they are all beside it.
  json::Value root = to_json(tables.back().result);
  if (tables.size() > 1) {
    json::Value all = json::Value::array();
    for (const Table& table : tables) {
      json::Value one = to_json(table.result);
      one.set("title", table.title);
      one.set("tasks", table.tasks);
      all.add(std::move(one));
    }
    root.set("tables", std::move(all));
  }
  std::printf("%s\n", json::to_pretty_text(root).c_str());
}

// Throttling by congestion needs a network: those policies are for laird-lab robustness.
[[nodiscard]] std::vector<std::string> default_policies() {
  std::vector<std::string> names;
  for (const std::string_view name : policies::policy_names()) {
    if (!name.starts_with("uara")) names.emplace_back(name);
  }
  return names;
}

// "40" or "10..100", the latter in tens.
[[nodiscard]] Result<std::vector<std::size_t>> parse_scale(const std::string& text) {
  const auto wrong = [&text] {
    return fail(Code::kInvalid,
                "--scale takes a count of tasks from 1 to 1000 or a range in tens "
                "like 10..100, not '" +
                    text + "'");
  };
  const auto parse = [](std::string_view digits) -> std::size_t {
    std::size_t value = 0;
    const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool ok = end.ec == std::errc{} && end.ptr == digits.data() + digits.size();
    return ok && value <= 1000 ? value : 0;
  };
  const std::size_t dots = text.find("..");
  const std::string_view all = text;
  const std::size_t from = parse(all.substr(0, dots));
  const std::size_t to = dots == std::string::npos ? from : parse(all.substr(dots + 2));
  if (from == 0 || to < from) return wrong();
  std::vector<std::size_t> out;
  for (std::size_t n = from; n <= to; n += 10) out.push_back(n);
  return out;
}

[[nodiscard]] Table run_table(const Study& study, std::string title, std::size_t tasks) {
  std::fprintf(stderr, "%s\n", title.c_str());
  return {std::move(title), tasks, run_study(study)};
}

[[nodiscard]] Result<Table> run_real(const Options& options, Study study) {
  auto set = load_curves(options.folder);
  LAIRD_TRY(set);
  for (const std::string& remark : set->remarks) std::fprintf(stderr, "%s\n", remark.c_str());
  if (set->curves.size() < kBundleTasks) {
    return fail(Code::kInvalid, options.folder + ": a bundle takes 10 different curves, here are " +
                                    std::to_string(set->curves.size()));
  }
  BundleSetting setting;
  if (options.earlier_runs) {
    // Only runs that have another of their task.
    const std::vector<std::size_t> of = earlier_runs(set->curves);
    std::vector<Curve> grouped;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (of[i] == i) continue;
      // In the samples of the board that will ask, which reports a point each kSamplesPerPoint.
      Curve earlier = set->curves[of[i]];
      for (std::size_t j = 0; j < earlier.samples.size(); ++j) {
        earlier.samples[j] = static_cast<double>((j + 1) * kSamplesPerPoint);
      }
      setting.earlier.push_back(trace_of(earlier));
      grouped.push_back(set->curves[i]);
    }
    set->curves = std::move(grouped);
    if (set->curves.size() < kBundleTasks) {
      return fail(Code::kInvalid, options.folder + ": fewer than 10 curves are in a group");
    }
  }
  setting.planned_length_known = options.planned_length == "known";
  setting.arrivals_until_units = options.arrivals_until;
  study.draw = [&](std::uint64_t seed) {
    return Bundle{draw_bundle(set->curves, setting, seed), {}};
  };
  return run_table(study, "bundles of real curves", kBundleTasks);
}

[[nodiscard]] Result<std::vector<Table>> run_tables(const Options& options, const Study& base) {
  std::vector<Table> tables;
  if (!options.folder.empty()) {
    auto table = run_real(options, base);
    LAIRD_TRY(table);
    tables.push_back(std::move(*table));
  }
  Study study = base;
  // The ablation is of both bundles unless one is named.
  const bool both = options.ablation && options.bundle.empty() && options.folder.empty();
  if (options.bundle == "pure" || both) {
    study.draw = pure_bundle;
    tables.push_back(run_table(study, "pure bundle", kBundleTasks));
  }
  if (options.bundle == "mixed" || both) {
    study.draw = mixed_bundle;
    tables.push_back(run_table(study, "mixed bundle", kBundleTasks));
  }
  if (options.scale.empty()) return tables;
  const auto scales = parse_scale(options.scale);
  LAIRD_TRY(scales);
  for (const std::size_t n : *scales) {
    study.draw = [n](std::uint64_t seed) { return scale_bundle(n, seed); };
    tables.push_back(run_table(study, std::to_string(n) + " LSTM tasks", n));
  }
  return tables;
}

[[nodiscard]] Status write_page(const Options& options, const std::vector<Table>& tables) {
  std::vector<Table> studies;
  std::vector<Table> scales;
  for (const Table& table : tables) {
    (table.title.ends_with("LSTM tasks") ? scales : studies).push_back(table);
  }
  std::vector<DrawnBundle> drawn;
  const std::uint64_t seed = options.seed * 1'000'003;
  if (options.bundle == "pure") drawn.push_back({"pure bundle", pure_bundle(seed)});
  if (options.bundle == "mixed") drawn.push_back({"mixed bundle", mixed_bundle(seed)});
  LAIRD_TRY(config::write_file(options.page, laira_page(studies, scales, drawn)));
  std::fprintf(stderr, "wrote %s\n", options.page.c_str());
  return {};
}

[[nodiscard]] Status run(const Options& options) {
  if (options.folder.empty() && options.bundle.empty() && options.scale.empty() &&
      !options.ablation) {
    return fail(Code::kInvalid,
                "say which tasks: --real DIR, --bundle pure|mixed, --scale N or "
                "--ablation");
  }
  Study study;
  study.policies = options.policies;
  for (const std::string& policy : study.policies) {
    LAIRD_TRY(policies::make_policy(policy));
  }
  if (study.policies.empty()) study.policies = default_policies();
  if (options.ablation) study.policies = {"laira", "laira-no-ucb", "laira-no-pd", "sta"};
  study.runs = options.bundles;
  study.told = options.told == "reach"  ? Told::kReach
               : options.told == "need" ? Told::kNeed
               : options.told == "both" ? Told::kBoth
                                        : Told::kNothing;
  study.seed = options.seed;
  study.jobs = options.jobs;
  study.resident_max = options.resident_max;
  study.restore_units = options.restore_units;
  study.checkpoint_units = options.restore_units / 4.0;
  const auto board = power::find_board(options.board, "");
  LAIRD_TRY(board);
  const power::ModelledBoard model(*board);
  study.idle_w = 1e-3 * model.power_mw({});
  study.busy_w = 1e-3 * model.power_mw({.gpu_use = 1.0});
  const auto tables = run_tables(options, study);
  LAIRD_TRY(tables);
  if (!options.page.empty()) {
    LAIRD_TRY(write_page(options, *tables));
  }
  print(*tables, options.json);
  return {};
}

}  // namespace

void add_laira(cli::Command& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  cli::Command* command =
      app.add_subcommand("laira", "run every policy on the same bundles of learning tasks");
  command->add_option("--real", options->folder,
                      "bundles made of the real curves in this folder: *.csv, manifest.json");
  command->add_option("--bundle", options->bundle, "the LaiRA paper's Table 1 (pure) or 2 (mixed)")
      ->check(cli::one_of({"pure", "mixed"}));
  command->add_option("--scale", options->scale,
                      "so many LSTM tasks, or a range like 10..100: the paper's Figure 4");
  command->add_flag("--ablation", options->ablation,
                    "LaiRA and what is left without each of its parts: the paper's Figure 5");
  command->add_option("--bundles,--runs", options->bundles, "how many bundles")
      ->check(cli::range(1, 1'000'000));
  command->add_option("--seed", options->seed, "of the bundles");
  command->add_option("--planned-length", options->planned_length, "known or unknown to policies")
      ->check(cli::one_of({"known", "unknown"}));
  command->add_flag("--earlier-runs", options->earlier_runs,
                    "with --real: only curves of groups, and each task has one earlier run");
  command
      ->add_option("--oracle", options->told,
                   "tell ours whether each target is reached, what each task needs, or both: what "
                   "its forecasts cost")
      ->check(cli::one_of({"reach", "need", "both"}));
  command->add_option("--policy", options->policies, "only these; may be given many times");
  command
      ->add_option("--arrivals", options->arrivals_until,
                   "tasks arrive in the first so many units instead of all at once (the oracle is "
                   "then an upper bound)")
      ->check(cli::range(0.0, 1e6));
  command
      ->add_option("--resident", options->resident_max,
                   "how many trainers fit in memory at once; 0: all")
      ->check(cli::range(0, 1000));
  command
      ->add_option("--restore", options->restore_units,
                   "units of time to bring a trainer back; putting it away takes a quarter")
      ->check(cli::range(0.0, 1e6));
  command->add_option("--board", options->board,
                      "energy by this board's model, a unit of time taken as a second");
  command->add_option("--jobs", options->jobs, "threads")->check(cli::range(1, 256));
  command->add_option("--page", options->page, "also draw what was run as HTML");
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Example:\n"
      "  laird-lab laira --real data/curves --bundles 400 --planned-length unknown\n"
      "  laird-lab laira --bundle mixed --bundles 100\n"
      "  laird-lab laira --scale 10..100 --bundles 100 --policy laira --policy lara\n"
      "  laird-lab laira --ablation --bundles 100\n"
      "Policies forecast each curve with constants that were tuned without the curve's source.\n"
      "'switches' in the JSON are per task.");
  command->callback([options, &code] {
    const Status status = run(*options);
    if (status) return;
    std::fprintf(stderr, "laird-lab laira: %s\n", status.error().text().c_str());
    code.value = 1;
  });
}

}  // namespace laird::lab
