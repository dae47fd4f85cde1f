// laird-lab forecast: measures every estimator on real curves, draws them, re-tunes ours.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>

#include "cli/command.hpp"
#include "config/schema.hpp"
#include "json/value.hpp"
#include "lab/commands.hpp"
#include "lab/forecast/evaluate.hpp"
#include "lab/forecast/memory.hpp"
#include "lab/forecast/page.hpp"
#include "lab/forecast/reach.hpp"
#include "lab/forecast/tune.hpp"

namespace laird::lab {

namespace {

struct Options {
  std::string folder;
  std::string tune_checkout;
  std::string page;
  std::uint64_t seed = 1;
  bool json = false;
  bool details = false;
};

[[nodiscard]] std::string share_key(double share) {
  return std::to_string(static_cast<int>(std::lround(100.0 * share)));
}

[[nodiscard]] json::Value parts_of(const std::vector<MethodScore::Part>& parts) {
  json::Value out = json::Value::array();
  for (const MethodScore::Part& part : parts) {
    json::Value p = json::Value::object();
    p.set("name", part.name);
    p.set("predictions", part.predictions);
    p.set("ln_error", part.ln_error);
    p.set("cap", part.cap);
    p.set("coverage_90", part.coverage_90 ? json::Value::number(*part.coverage_90) : json::Value());
    out.add(std::move(p));
  }
  return out;
}

[[nodiscard]] json::Value parts_of(const std::vector<ReachScore::Part>& parts) {
  json::Value out = json::Value::array();
  for (const ReachScore::Part& part : parts) {
    json::Value p = json::Value::object();
    p.set("name", part.name);
    p.set("questions", part.questions);
    p.set("brier", part.brier);
    p.set("brier_base", part.brier_base);
    out.add(std::move(p));
  }
  return out;
}

[[nodiscard]] json::Value to_json(const std::vector<Curve>& curves,
                                  const std::vector<MethodScore>& scores,
                                  const std::vector<ReachScore>& reach, const MemoryScore& memory,
                                  bool details) {
  json::Value root = json::Value::object();
  root.set("curves", curves.size());
  json::Value methods = json::Value::array();
  for (const MethodScore& score : scores) {
    json::Value m = json::Value::object();
    m.set("name", score.name);
    m.set("about", score.about);
    json::Value medians = json::Value::object();
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      medians.set(share_key(kShares[i]), score.median[i]);
    }
    m.set("median", std::move(medians));
    m.set("cap", score.cap);
    m.set("cap_all", score.cap_all);
    m.set("over_10x", score.over_10x);
    m.set("ln_error", score.ln_error);
    m.set("coverage_90",
          score.coverage_90 ? json::Value::number(*score.coverage_90) : json::Value());
    json::Value coverage = json::Value::object();
    for (std::size_t i = 0; i < kShares.size(); ++i) {
      const bool known = score.coverage[i] == score.coverage[i];
      coverage.set(share_key(kShares[i]),
                   known ? json::Value::number(score.coverage[i]) : json::Value());
    }
    m.set("coverage", std::move(coverage));
    m.set("kinds", parts_of(score.kinds));
    m.set("sources", parts_of(score.sources));
    m.set("ns_update", score.ns_update);
    m.set("ns_forecast", score.ns_forecast);
    if (details) {
      json::Value predictions = json::Value::array();
      for (const Prediction& p : score.predictions) {
        json::Value v = json::Value::object();
        v.set("curve", p.curve);
        v.set("share", p.share);
        v.set("loss", p.loss);
        v.set("true", p.loss_true);
        if (p.low) v.set("low", *p.low);
        if (p.high) v.set("high", *p.high);
        predictions.add(std::move(v));
      }
      m.set("predictions", std::move(predictions));
    }
    methods.add(std::move(m));
  }
  root.set("methods", std::move(methods));
  json::Value reached = json::Value::array();
  for (const ReachScore& score : reach) {
    json::Value r = json::Value::object();
    r.set("deadline", score.deadline);
    r.set("questions", score.questions);
    r.set("base_rate", score.base_rate);
    r.set("brier", score.brier);
    r.set("brier_base", score.brier_base);
    r.set("auc", score.auc);
    json::Value bins = json::Value::array();
    for (const auto& bin : score.bins) {
      json::Value b = json::Value::object();
      b.set("questions", bin.questions);
      b.set("said", bin.probability);
      b.set("came_true", bin.came_true);
      bins.add(std::move(b));
    }
    r.set("deciles", std::move(bins));
    r.set("kinds", parts_of(score.kinds));
    r.set("sources", parts_of(score.sources));
    reached.add(std::move(r));
  }
  root.set("reach", std::move(reached));
  if (memory.groups > 0) {
    json::Value m = json::Value::object();
    m.set("groups", memory.groups);
    m.set("runs", memory.runs);
    m.set("ln_error_alone", memory.ln_error_alone);
    m.set("ln_error_with_one", memory.ln_error_with_one);
    m.set("ln_error_misled", memory.ln_error_misled);
    m.set("ln_error_at_start", memory.ln_error_at_start);
    m.set("coverage_with_one", memory.coverage_with_one);
    root.set("memory", std::move(m));
  }
  return root;
}

void print_table(const std::vector<Curve>& curves, const std::vector<MethodScore>& scores) {
  std::printf("%zu curves; error of the forecast of the last point from the first points\n\n",
              curves.size());
  std::printf("%-15s %6s %6s %6s %6s %6s  %7s %6s %7s %6s %8s %10s %11s\n", "median error at", "1%",
              "2%", "5%", "10%", "20%", "|ln e|", "cap", "cap_all", ">10x", "coverage", "ns/update",
              "ns/forecast");
  for (const MethodScore& s : scores) {
    std::printf("%-15s", s.name.c_str());
    for (const double m : s.median) std::printf(" %6.2f", m);
    std::printf("  %7.3f %6.3f %7.3f %6.3f", s.ln_error, s.cap, s.cap_all, s.over_10x);
    if (s.coverage_90) {
      std::printf(" %8.2f", *s.coverage_90);
    } else {
      std::printf(" %8s", "-");
    }
    std::printf(" %10.0f %11.0f\n", s.ns_update, s.ns_forecast);
  }
  const auto forecast_ns = [&](const char* name) {
    for (const MethodScore& s : scores) {
      if (s.name == name) return s.ns_forecast;
    }
    return 0.0;
  };
  std::printf(
      "\na forecast by m4 costs %.0f times one by dkf (the LaiRA paper: about 800), %.0f times "
      "ours\n\n",
      forecast_ns("m4") / forecast_ns("dkf"), forecast_ns("m4") / forecast_ns("ours"));
  for (const MethodScore& s : scores) std::printf("%-15s %s\n", s.name.c_str(), s.about.c_str());
}

// What the bands of ours cover at each share, and how each kind fares.
void print_parts(const MethodScore& ours) {
  std::printf("\nours: the 90%% band covers, at");
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    std::printf(" %s%% %.2f", share_key(kShares[i]).c_str(), ours.coverage[i]);
  }
  std::printf("\nours by kind: %6s %6s %8s %11s\n", "|ln e|", "cap", "coverage", "predictions");
  for (const MethodScore::Part& kind : ours.kinds) {
    std::printf("%-13s %6.3f %6.3f %8.2f %11zu\n", kind.name.c_str(), kind.ln_error, kind.cap,
                kind.coverage_90.value_or(0.0), kind.predictions);
  }
}

void print_reach(const std::vector<ReachScore>& reach) {
  std::printf("\nwill the target be touched by the deadline? (ours, held out)\n");
  for (const ReachScore& s : reach) {
    std::printf(
        "  deadline %-7s %zu questions, %.2f came true, Brier %.3f (base rate %.3f), AUC %.2f\n",
        s.deadline.c_str(), s.questions, s.base_rate, s.brier, s.brier_base, s.auc);
    std::printf("    said     ");
    for (const auto& bin : s.bins) std::printf(" %5.2f", bin.probability);
    std::printf("\n    came true");
    for (const auto& bin : s.bins) std::printf(" %5.2f", bin.came_true);
    std::printf("\n");
  }
}

void print_memory(const MemoryScore& m) {
  std::printf(
      "\none earlier run (%zu runs of %zu groups, median |ln e| from the first 1%%): alone %.3f, "
      "with one %.3f,\nwith another task's %.3f; before the first report, with one, %.3f; the 90%% "
      "band with one covers %.2f\n",
      m.runs, m.groups, m.ln_error_alone, m.ln_error_with_one, m.ln_error_misled,
      m.ln_error_at_start, m.coverage_with_one);
}

// One folder, or several with commas between.
[[nodiscard]] Result<CurveSet> load_all(const std::string& folders) {
  CurveSet all;
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t comma = std::min(folders.find(',', from), folders.size());
    auto set = load_curves(folders.substr(from, comma - from));
    LAIRD_TRY(set);
    std::move(set->curves.begin(), set->curves.end(), std::back_inserter(all.curves));
    std::move(set->remarks.begin(), set->remarks.end(), std::back_inserter(all.remarks));
    from = comma + 1;
  }
  return all;
}

[[nodiscard]] Status run(const Options& options) {
  auto set = load_all(options.folder);
  LAIRD_TRY(set);
  for (const std::string& remark : set->remarks) std::fprintf(stderr, "%s\n", remark.c_str());
  if (!options.tune_checkout.empty()) return tune_and_write(set->curves, options.tune_checkout);
  if (!options.page.empty()) {
    LAIRD_TRY(config::write_file(options.page, draw_page(set->curves)));
    std::fprintf(stderr, "wrote %s\n", options.page.c_str());
  }
  const std::vector<MethodScore> scores = evaluate(set->curves, true);
  const std::vector<ReachScore> reach = score_reach(set->curves, options.seed);
  const MemoryScore memory = score_memory(set->curves);
  if (options.json) {
    const json::Value tree = to_json(set->curves, scores, reach, memory, options.details);
    std::printf("%s\n", json::to_pretty_text(tree).c_str());
  } else {
    print_table(set->curves, scores);
    print_parts(scores.front());
    print_reach(reach);
    if (memory.groups > 0) print_memory(memory);
  }
  return {};
}

}  // namespace

void add_forecast(cli::Command& app, ExitCode& code) {
  auto options = std::make_shared<Options>();
  cli::Command* command =
      app.add_subcommand("forecast", "measure the learning-curve estimators on real curves");
  command
      ->add_option("--curves", options->folder,
                   "folder of curves: *.csv, manifest.json; several with commas between")
      ->required();
  command->add_flag("--json", options->json, "print JSON");
  command->add_flag("--details", options->details, "with --json: every prediction");
  command->add_option("--page", options->page, "also draw the curves with their bands as HTML");
  command->add_option("--seed", options->seed, "of the questions about reaching a target");
  command->add_option("--tune", options->tune_checkout,
                      "find the forecaster's constants anew and write them into this checkout");
  command->footer(
      "Example:\n"
      "  laird-lab forecast --curves data/curves --page curves.html\n"
      "'ours' is judged on each curve with constants that were tuned without the curve's source;\n"
      "curves of an unknown source are judged with the shipped constants.");
  command->callback([options, &code] {
    const Status status = run(*options);
    if (status) return;
    std::fprintf(stderr, "laird-lab forecast: %s\n", status.error().text().c_str());
    code.value = 1;
  });
}

}  // namespace laird::lab
