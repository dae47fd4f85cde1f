#include "lab/governor/command.hpp"

#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/governor/captures.hpp"
#include "lab/governor/loop.hpp"
#include "lab/governor/page.hpp"
#include "power/boards/catalogue.hpp"

namespace laird::lab {
namespace {

struct Options {
  std::string board = "orin-nano-8gb";
  std::string captures;
  std::string page;
  std::string gate = "ceiling";
  int reading_ms = 100;
  std::uint64_t seed = 1;
  bool json = false;
};

json::Value to_json(const LoopResult& r) {
  json::Value out = json::Value::object();
  out.set("scenario", r.name);
  out.set("seconds", r.seconds);
  out.set("constrained_seconds", r.constrained_seconds);
  out.set("mean_to_cap_percent", r.mean_to_cap_percent);
  out.set("mean_to_best_percent", r.mean_to_best_percent);
  out.set("above_cap_5_percent_of_time", r.above_percent_of_time);
  out.set("steps", r.steps);
  out.set("settle_seconds_max",
          r.steps > 0 ? json::Value::number(r.settle_seconds_max) : json::Value());
  out.set("moves", r.moves);
  out.set("steady_moves_per_2s_max", r.steady_moves_per_2s_max);
  return out;
}

void print_table(const std::vector<LoopResult>& results) {
  std::printf("%-60s %8s %8s %8s %8s %8s %7s %7s\n", "scenario", "time s", "mean", "to best",
              ">cap+5%", "settle", "moves", "in 2 s");
  for (const LoopResult& r : results) {
    char settle[16] = "-";
    if (r.steps > 0) std::snprintf(settle, sizeof settle, "%.2f s", r.settle_seconds_max);
    std::printf("%-60.60s %8.0f %+7.2f%% %+7.2f%% %7.2f%% %8s %7llu %7llu\n", r.name.c_str(),
                r.seconds, r.mean_to_cap_percent, r.mean_to_best_percent, r.above_percent_of_time,
                settle, static_cast<unsigned long long>(r.moves),
                static_cast<unsigned long long>(r.steady_moves_per_2s_max));
  }
  std::printf(
      "\nmean: power against the cap while demand exceeds it\n"
      "to best: the same against a governor that knows the future, on the same lagging supply\n"
      "in 2 s: most moves in any two seconds in which load and cap had stood still for 5 s\n");
}

int run(const Options& options) {
  const Result<power::Board> board = power::find_board(options.board, "");
  const Result<power::Board> rules = power::find_board("generic", "");
  if (!board || !rules) {
    std::fprintf(stderr, "laird-lab governor: %s\n", board.error().text().c_str());
    return 2;
  }
  std::vector<Scenario> scenarios = synthetic_scenarios(*board);
  if (!options.captures.empty()) {
    const auto traces = load_captures(options.captures, *rules);
    if (!traces) {
      std::fprintf(stderr, "laird-lab governor: %s\n", traces.error().text().c_str());
      return 1;
    }
    for (const RecordedTrace& trace : *traces) {
      for (auto scenario :
           {scenario_from_power(trace, *board), scenario_from_loads(trace, *board)}) {
        if (scenario) scenarios.push_back(std::move(*scenario));
      }
    }
  }
  LoopConfig config;
  config.reading_period_ns = options.reading_ms * kMillisecond;
  config.gate = options.gate == "duty" ? GateKind::kDuty : GateKind::kCeiling;
  config.seed = options.seed;
  config.keep_trace = !options.page.empty();
  std::vector<LoopResult> results;
  const bool show = isatty(STDERR_FILENO) != 0;
  for (const Scenario& scenario : scenarios) {
    if (show) std::fprintf(stderr, "\r\033[K%s", scenario.name.c_str());
    results.push_back(run_loop(*board, scenario, config));
  }
  if (show) std::fprintf(stderr, "\r\033[K");
  if (options.json) {
    json::Value all = json::Value::array();
    for (const LoopResult& r : results) all.add(to_json(r));
    json::Value out = json::Value::object();
    out.set("board", board->name);
    out.set("gate", options.gate);
    out.set("reading_ms", options.reading_ms);
    out.set("results", std::move(all));
    std::printf("%s", json::to_pretty_text(out).c_str());
  } else {
    print_table(results);
  }
  if (!options.page.empty()) {
    if (const Status ok = config::write_file(options.page, governor_page(*board, results)); !ok) {
      std::fprintf(stderr, "laird-lab governor: %s\n", ok.error().text().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

void add_governor(cli::Command& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  cli::Command* sub = app.add_subcommand(
      "governor",
      "Hold a power cap on a modelled board under synthetic and recorded loads.\n"
      "Example: laird-lab governor --board agx-orin-64gb --captures DIR --page governor.html");
  sub->add_option("--board", options->board, "Board to model")->show_default();
  sub->add_option("--captures", options->captures, "Folder of tegrastats captures (*.log)");
  sub->add_option("--page", options->page, "Write a page with plots to this file");
  sub->add_option("--gate", options->gate,
                  "ceiling: a power budget shared over the lanes; duty: cuts whatever runs")
      ->check(cli::one_of({"ceiling", "duty"}))
      ->show_default();
  sub->add_option("--reading-ms", options->reading_ms, "Time between readings")
      ->check(cli::range(10, 5000))
      ->show_default();
  sub->add_option("--seed", options->seed, "Seed of the noise")->show_default();
  sub->add_flag("--json", options->json, "Print JSON");
  sub->callback([options, &code] { code.value = run(*options); });
}

}  // namespace laird::lab
