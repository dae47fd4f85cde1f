#include "lab/robustness/page.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "lab/robustness/workload.hpp"
#include "plot/figures.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

// The lines of the figures, by colour; what else is run is in the table.
constexpr std::array<const char*, 8> kDrawn = {"ours",
                                               "uara-lara-printed",
                                               "uara-laira",
                                               "lara",
                                               "shortest-task-first",
                                               "uara-uniform-printed",
                                               "laira",
                                               "uniform"};

struct Panel {
  const char* title;
  const char* unit;
  Measured StrategyScore::*value;
  double factor;
};
constexpr std::array<Panel, 4> kPanels = {{
    {"Success rate", "% of tasks", &StrategyScore::success_pct, 1.0},
    {"Energy", "units of the paper", &StrategyScore::energy, 1.0},
    {"Efficiency", "% of success per 1000 units of energy", &StrategyScore::efficiency, 1000.0},
    {"Network utilisation", "% of the time", &StrategyScore::link_use, 100.0},
}};

struct PaperRow {
  const char* name;
  double success, latency, energy, efficiency;
};
constexpr std::array<PaperRow, 5> kPaper = {{
    {"uniform", 50.0, 27.4, 1852, 0.0270},
    {"shortest-task-first", 48.3, 32.6, 3080, 0.0157},
    {"lara", 30.0, 29.0, 2485, 0.0121},
    {"uara-uniform-printed", 46.7, 28.5, 1940, 0.0241},
    {"uara-lara-printed", 33.3, 32.2, 1101, 0.0303},
}};

std::string digits(double v, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

std::string with_error(const Measured& m, int decimals) {
  return digits(m.mean, decimals) + " ± " + digits(m.standard_error, decimals);
}

std::string panel(const Panel& what, const std::vector<RobustnessLoad>& loads) {
  plot::Plot plot;
  plot.x_unit = "tasks";
  for (std::size_t c = 0; c < kDrawn.size(); ++c) {
    plot::PlotSeries series;
    series.name = kDrawn[c];
    series.colour = static_cast<int>(c);
    series.strong = true;
    for (const RobustnessLoad& load : loads) {
      for (const StrategyScore& s : load.strategies) {
        if (s.name != kDrawn[c]) continue;
        const Measured& m = s.*what.value;
        const double mean = what.factor * m.mean;
        const double error = what.factor * m.standard_error;
        series.points.push_back(
            {static_cast<double>(load.tasks), mean - error, mean + error, mean});
      }
    }
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return std::string("<h2>") + what.title + ", " + what.unit + "</h2>" + plot::svg_lines(plot);
}

std::string summary_table(const RobustnessLoad& load) {
  std::vector<std::vector<std::string>> rows = {{"strategy", "success %", "latency", "energy",
                                                 "efficiency", "paper: success %", "latency",
                                                 "energy", "efficiency"}};
  for (const StrategyScore& s : load.strategies) {
    std::vector<std::string> row = {s.name, with_error(s.success_pct, 1), with_error(s.latency, 1),
                                    with_error(s.energy, 0), with_error(s.efficiency, 4)};
    const auto paper = std::find_if(kPaper.begin(), kPaper.end(),
                                    [&](const PaperRow& p) { return s.name == p.name; });
    if (paper == kPaper.end()) {
      row.insert(row.end(), 4, "");
    } else {
      row.push_back(digits(paper->success, 1));
      row.push_back(digits(paper->latency, 1));
      row.push_back(digits(paper->energy, 0));
      row.push_back(digits(paper->efficiency, 4));
    }
    rows.push_back(std::move(row));
  }
  return plot::html_table(rows);
}

std::string schedule(const char* policy, const char* title, std::size_t tasks, std::uint64_t seed) {
  const Workload load = draw_workload(tasks, seed);
  plot::Timeline timeline;
  for (std::size_t node = 1; node <= kStudyNodes; ++node) {
    timeline.rows.push_back("node " + std::to_string(node));
  }
  const ClusterResult run = run_cluster(
      {kStudyNodes, kLinkSamplesPerStep, policy, seed}, load.tasks, [&](const ClusterGrant& g) {
        timeline.spans.push_back({g.board, g.from_units, g.to_units, g.share,
                                  static_cast<int>(g.task),
                                  "task " + std::to_string(g.task + 1) + ", " +
                                      digits(100.0 * g.share, 0) + "% of the node"});
      });
  timeline.until = run.horizon_units;
  timeline.x_unit = "steps; the height of a bar is its share of the node";
  std::size_t successes = 0;
  for (const TimeNs at : run.succeeded_at) successes += at != kNever ? 1 : 0;
  return std::string("<h2>") + title + "</h2><p>" + std::to_string(successes) + " of " +
         std::to_string(tasks) + " tasks succeed; the nodes are in use " +
         digits(100.0 * run.work_units / (run.horizon_units * static_cast<double>(kStudyNodes)),
                0) +
         "% of the time.</p>" + plot::svg_timeline(timeline);
}

}  // namespace

std::string robustness_page(const std::vector<RobustnessLoad>& loads,
                            const RobustnessSetting& setting) {
  const RobustnessLoad& last = loads.back();
  std::string body =
      "<h1>Robustness and efficiency of network-aware scheduling</h1><p class=lead>Five nodes of "
      "30 "
      "samples per step behind a network of 100 samples per step; means over " +
      std::to_string(setting.runs) +
      " workloads, the same for every strategy; bands are one "
      "standard error. \"printed\" normalises shares over all active tasks, also those still "
      "receiving their data; without it, over those that compute.</p>";
  for (const Panel& p : kPanels) body += panel(p, loads);
  body += "<h2>At " + std::to_string(last.tasks) + " tasks, and the paper's Table 1</h2>" +
          summary_table(last);
  const std::uint64_t seed = setting.seed * 1'000'003;
  body += schedule("uara-lara-printed", "The paradox: UARA+LARA as printed", last.tasks, seed);
  body += schedule("uara-laira", "Corrected: UARA+LaiRA on the same workload", last.tasks, seed);
  body += schedule("foresight", "Ours on the same workload", last.tasks, seed);
  return plot::page("Robustness study", body);
}

}  // namespace laird::lab
