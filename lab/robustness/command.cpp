// laird-lab robustness: the five-node study of network-aware throttling.
#include <cstdio>
#include <memory>

#include "agent/policies/policy.hpp"
#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/commands.hpp"
#include "lab/robustness/page.hpp"
#include "lab/robustness/study.hpp"

namespace laird::lab {
namespace {

struct Options {
  RobustnessSetting setting;
  bool sweep = false;
  std::string page;
  bool json = false;
};

using Load = RobustnessLoad;

[[nodiscard]] json::Value to_json(const Load& load) {
  json::Value root = json::Value::object();
  root.set("tasks", load.tasks);
  json::Value strategies = json::Value::array();
  for (const StrategyScore& s : load.strategies) {
    json::Value v = json::Value::object();
    v.set("name", s.name);
    const auto set = [&v](const std::string& key, const Measured& m) {
      v.set(key, m.mean);
      v.set(key + "_stderr", m.standard_error);
    };
    set("success_pct", s.success_pct);
    set("latency", s.latency);
    set("energy", s.energy);
    set("efficiency", s.efficiency);
    set("network_use", s.link_use);
    set("node_use", s.lane_use);
    strategies.add(std::move(v));
  }
  root.set("strategies", std::move(strategies));
  return root;
}

void print_table(const Load& load, std::size_t runs) {
  std::printf("%zu tasks on 5 nodes, %zu runs; +- is one standard error\n\n", load.tasks, runs);
  std::printf("%-22s %9s %5s %8s %5s %7s %5s %10s %7s %8s %8s\n", "strategy", "success %", "+-",
              "latency", "+-", "energy", "+-", "efficiency", "+-", "network", "nodes");
  for (const StrategyScore& s : load.strategies) {
    std::printf("%-22s %9.1f %5.1f %8.1f %5.1f %7.0f %5.0f %10.4f %7.4f %7.0f%% %7.0f%%\n",
                s.name.c_str(), s.success_pct.mean, s.success_pct.standard_error, s.latency.mean,
                s.latency.standard_error, s.energy.mean, s.energy.standard_error, s.efficiency.mean,
                s.efficiency.standard_error, 100.0 * s.link_use.mean, 100.0 * s.lane_use.mean);
  }
  std::printf("\n");
}

[[nodiscard]] Status run(Options options) {
  RobustnessSetting& setting = options.setting;
  if (setting.strategies.empty()) setting.strategies = study_strategies();
  for (const std::string& name : setting.strategies) {
    LAIRD_TRY(policies::make_policy(name));
  }
  std::vector<Load> loads;
  if (options.sweep || !options.page.empty()) {
    for (std::size_t tasks = 10; tasks <= 60; tasks += 10) {
      RobustnessSetting one = setting;
      one.tasks = tasks;
      std::fprintf(stderr, "%zu tasks\n", tasks);
      loads.push_back({tasks, run_robustness(one)});
    }
  } else {
    loads.push_back({setting.tasks, run_robustness(setting)});
  }
  if (!options.page.empty()) {
    LAIRD_TRY(config::write_file(options.page, robustness_page(loads, setting)));
    std::fprintf(stderr, "wrote %s\n", options.page.c_str());
  }
  if (!options.json) {
    for (const Load& load : loads) print_table(load, setting.runs);
    return {};
  }
  // The last load is the answer; a sweep has the others beside it.
  json::Value root = to_json(loads.back());
  root.set("runs", setting.runs);
  if (options.sweep) {
    json::Value sweep = json::Value::array();
    for (const Load& load : loads) sweep.add(to_json(load));
    root.set("sweep", std::move(sweep));
  }
  std::printf("%s\n", json::to_pretty_text(root).c_str());
  return {};
}

}  // namespace

void add_robustness(cli::Command& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  cli::Command* command = app.add_subcommand(
      "robustness",
      "throttling by congestion on five nodes behind one network, as printed and "
      "corrected");
  command->add_option("--tasks", options->setting.tasks, "how many tasks arrive")
      ->check(cli::range(1, 1000));
  command->add_flag("--sweep", options->sweep, "10, 20 ... 60 tasks, the paper's Figure 1");
  command->add_option("--runs", options->setting.runs, "workloads, the same for every strategy")
      ->check(cli::range(1, 1'000'000));
  command->add_option("--seed", options->setting.seed, "of the workloads");
  command->add_option("--strategy", options->setting.strategies,
                      "only these policies; may be given many times");
  command->add_option("--jobs", options->setting.jobs, "threads")->check(cli::range(1, 256));
  command->add_option("--page", options->page,
                      "write the sweep as HTML: the paper's figures and the schedules");
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Example:\n"
      "  laird-lab robustness --tasks 60 --runs 200\n"
      "  laird-lab robustness --runs 100 --page robustness.html\n"
      "Energy is in the units of the paper's Table 1; efficiency is percent of success over "
      "energy.\n"
      "'uara-*-printed' normalise over all active tasks, as the paper's code does; 'uara-*' over\n"
      "those that compute.");
  command->callback([options, &code] {
    const Status status = run(*options);
    if (status) return;
    std::fprintf(stderr, "laird-lab robustness: %s\n", status.error().text().c_str());
    code.value = 1;
  });
}

}  // namespace laird::lab
