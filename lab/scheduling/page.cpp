#include "lab/scheduling/page.hpp"

#include <algorithm>
#include <cstdio>

#include "plot/figures.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

std::string digits(double v, int decimals) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

std::string score_table(const StudyResult& result) {
  std::vector<std::vector<std::string>> rows = {
      {"policy", "successes", "±", "of oracle", "switches per task", "behind ours", "±"}};
  for (const PolicyScore& s : result.policies) {
    const bool compared = s.behind_ours_error > 0.0;
    rows.push_back({s.name, digits(s.successes, 2), digits(s.standard_error, 2),
                    digits(100.0 * s.of_oracle, 1) + "%", digits(s.switches_per_task, 2),
                    compared ? digits(s.behind_ours, 2) : "",
                    compared ? digits(s.behind_ours_error, 2) : ""});
  }
  return plot::html_table(rows);
}

std::string study(const StudyTable& table) {
  std::vector<plot::NamedBar> bars;
  for (const PolicyScore& s : table.result.policies) {
    bars.push_back({s.name, s.successes, s.standard_error, s.name == "ours"});
  }
  std::stable_sort(bars.begin(), bars.end(), [](const plot::NamedBar& a, const plot::NamedBar& b) {
    return a.value > b.value;
  });
  return "<h2>" + plot::escaped(table.title) + "</h2><p>Successes of " +
         std::to_string(table.tasks) + " tasks, means over " + std::to_string(table.result.runs) +
         " runs, the same for every policy.</p>" +
         plot::svg_bars(bars, "successes; the small line is one standard error",
                        table.result.oracle, "oracle " + digits(table.result.oracle, 2)) +
         score_table(table.result);
}

std::string growth(const std::vector<StudyTable>& scales, bool switches) {
  plot::Plot plot;
  plot.x_unit = "tasks";
  const auto& policies = scales.front().result.policies;
  int colour = 0;
  for (std::size_t p = 0; p < policies.size(); ++p) {
    // As many as there are colours: the ablations are for their own figure.
    if (policies.size() > plot::kPlotColours && policies[p].name.starts_with("laira-")) continue;
    plot::PlotSeries series;
    series.name = policies[p].name;
    series.colour = colour++ % plot::kPlotColours;
    series.strong = true;
    for (const StudyTable& scale : scales) {
      const PolicyScore& s = scale.result.policies[p];
      const auto tasks = static_cast<double>(scale.tasks);
      const double mean = switches ? tasks * s.switches_per_task : s.successes;
      const double error = switches ? 0.0 : s.standard_error;
      series.points.push_back({tasks, mean - error, mean + error, mean});
    }
    plot.series.push_back(std::move(series));
  }
  return plot::svg_lines(plot);
}

std::string schedule(const DrawnBundle& drawn, const char* policy) {
  const std::vector<SimulatedTask>& tasks = drawn.bundle.tasks;
  plot::Timeline timeline;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    timeline.rows.push_back("task " + std::to_string(i + 1));
    const double deadline = tasks[i].arrival_units + tasks[i].deadline_units;
    timeline.until = std::max(timeline.until, deadline);
    timeline.marks.push_back({i, deadline, false});
  }
  CurveBoard board(policy, 1);
  const auto to_units = [](TimeNs at) {
    return static_cast<double>(at - kSecond) / static_cast<double>(kTimeUnit);
  };
  board.after_grant = [&](std::uint32_t index, TimeNs from, TimeNs to, double share) {
    // Slices that follow each other are one bar.
    for (auto span = timeline.spans.rbegin(); span != timeline.spans.rend(); ++span) {
      if (timeline.spans.rend() - span + 12 < static_cast<std::ptrdiff_t>(timeline.spans.size())) {
        break;
      }
      if (span->row == index && span->to >= to_units(from) - 1e-6 && span->share == share) {
        span->to = to_units(to);
        return;
      }
    }
    timeline.spans.push_back({index, to_units(from), to_units(to), share, static_cast<int>(index),
                              "task " + std::to_string(index + 1)});
  };
  const RunResult run = board.run(tasks);
  std::size_t successes = 0;
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    if (!run.succeeded[i]) continue;
    ++successes;
    timeline.marks.push_back({i, to_units(board.succeeded_at(i)), true});
  }
  timeline.x_unit = "units of time; a dot is a success, a line a deadline";
  return "<p>" + plot::escaped(published_name(policy)) + ": " + std::to_string(successes) +
         " successes, " + std::to_string(run.switches) + " switches</p>" +
         plot::svg_timeline(timeline);
}

}  // namespace

std::string laira_page(const std::vector<StudyTable>& tables, const std::vector<StudyTable>& scales,
                       const std::vector<DrawnBundle>& bundles) {
  std::string body =
      "<h1>Who gets the next slice</h1><p class=lead>Every policy in virtual time, around the core "
      "the boards run.</p>";
  for (const StudyTable& table : tables) body += study(table);
  if (!scales.empty()) {
    body += "<h2>More tasks: successes</h2>" + growth(scales, false);
    body += "<h2>More tasks: switches</h2>" + growth(scales, true);
  }
  for (const DrawnBundle& drawn : bundles) {
    body += "<h2>Who ran when: " + plot::escaped(drawn.title) + "</h2>";
    for (const char* policy : {"foresight", "laira", "lara"}) body += schedule(drawn, policy);
  }
  return plot::page("Scheduling studies", body);
}

}  // namespace laird::lab
