// laird-lab laira: every policy on the same bundles of learning tasks.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "agent/policies/policy.hpp"
#include "json/value.hpp"
#include "lab/commands.hpp"
#include "lab/scheduling/bundles.hpp"
#include "lab/scheduling/study.hpp"
#include "lab/scheduling/tune_prospects.hpp"

namespace laird::lab {
namespace {

struct Options {
  std::string folder;
  std::string planned_length = "known";
  std::string tune_checkout;
  std::vector<std::string> policies;
  std::size_t bundles = 400;
  std::uint64_t seed = 1;
  std::size_t jobs = 2;
  double arrivals_until = 0.0;
  bool json = false;
};

[[nodiscard]] json::Value to_json(const StudyResult& result) {
  json::Value root = json::Value::object();
  root.set("runs", json::Value::integer(static_cast<std::int64_t>(result.runs)));
  root.set("oracle", json::Value::number(result.oracle));
  json::Value policies = json::Value::array();
  for (const PolicyScore& score : result.policies) {
    json::Value p = json::Value::object();
    p.set("name", json::Value::string(score.name));
    p.set("successes", json::Value::number(score.successes));
    p.set("stderr", json::Value::number(score.standard_error));
    p.set("switches", json::Value::number(score.switches_per_task));
    p.set("of_oracle", json::Value::number(score.of_oracle));
    p.set("behind_ours", json::Value::number(score.behind_ours));
    p.set("behind_ours_stderr", json::Value::number(score.behind_ours_error));
    policies.add(std::move(p));
  }
  root.set("policies", std::move(policies));
  return root;
}

void print_table(const StudyResult& result) {
  std::printf("%zu bundles of %zu tasks; oracle (all needs known) %.2f successes\n\n", result.runs,
              kBundleTasks, result.oracle);
  std::printf("%-20s %9s %6s %9s %13s %12s %6s %14s\n", "policy", "successes", "+-", "of oracle",
              "switches/task", "behind ours", "+-", "task-slices/s");
  for (const PolicyScore& s : result.policies) {
    std::printf("%-20s %9.2f %6.2f %8.1f%% %13.2f %12.2f %6.2f %14.0f\n", s.name.c_str(),
                s.successes, s.standard_error, 100.0 * s.of_oracle, s.switches_per_task,
                s.behind_ours, s.behind_ours_error,
                s.cpu_seconds > 0.0 ? static_cast<double>(s.grants) / s.cpu_seconds : 0.0);
  }
}

[[nodiscard]] Status run(const Options& options) {
  auto set = load_curves(options.folder);
  if (!set) return tl::make_unexpected(set.error());
  for (const std::string& remark : set->remarks) std::fprintf(stderr, "%s\n", remark.c_str());
  if (set->curves.size() < kBundleTasks) {
    return fail(Code::kInvalid, options.folder + ": a bundle takes 10 different curves, here are " +
                                    std::to_string(set->curves.size()));
  }
  if (!options.tune_checkout.empty()) {
    return tune_prospects_and_write(set->curves, options.tune_checkout);
  }
  BundleSetting setting;
  setting.planned_length_known = options.planned_length == "known";
  setting.arrivals_until_units = options.arrivals_until;
  Study study;
  study.policies = options.policies;
  for (const std::string& policy : study.policies) {
    if (const auto made = policies::make_policy(policy); !made) {
      return tl::make_unexpected(made.error());
    }
  }
  if (study.policies.empty()) {
    for (const std::string_view name : policies::policy_names()) study.policies.emplace_back(name);
  }
  study.runs = options.bundles;
  study.seed = options.seed;
  study.jobs = options.jobs;
  study.draw = [&](std::uint64_t seed) { return draw_bundle(set->curves, setting, seed); };
  const StudyResult result = run_study(study);
  if (options.json) {
    std::printf("%s\n", json::to_pretty_text(to_json(result)).c_str());
  } else {
    print_table(result);
  }
  return {};
}

}  // namespace

void add_laira(CLI::App& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("laira", "run every policy on the same bundles of learning tasks");
  command
      ->add_option("--real", options->folder,
                   "bundles made of the real curves in this folder: *.csv, manifest.json")
      ->required();
  command->add_option("--bundles", options->bundles, "how many bundles")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--seed", options->seed, "of the bundles");
  command->add_option("--planned-length", options->planned_length, "known or unknown to policies")
      ->check(CLI::IsMember({"known", "unknown"}));
  command->add_option("--policy", options->policies, "only these; may be given many times");
  command
      ->add_option("--arrivals", options->arrivals_until,
                   "tasks arrive in the first so many units instead of all at once (the oracle is "
                   "then an upper bound)")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--tune", options->tune_checkout,
                      "fit our policy's constants anew and write them into this checkout");
  command->add_option("--jobs", options->jobs, "threads")->check(CLI::Range(1, 256));
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Example:\n"
      "  laird-lab laira --real data/curves --bundles 400 --planned-length unknown\n"
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
