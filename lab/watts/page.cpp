#include "lab/watts/page.hpp"

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

std::string table_of(const WattsTable& table) {
  std::vector<std::vector<std::string>> rows = {
      {"strategy", "successes", "±", "joules per success", "waste"}};
  std::vector<plot::NamedBar> bars;
  for (const WattsScore& s : table.scores) {
    const std::string strategy(name(s.strategy));
    rows.push_back({strategy, digits(s.successes, 2), digits(s.standard_error, 2),
                    digits(s.joules_per_success, 0), digits(100.0 * s.waste, 1) + "%"});
    bars.push_back({strategy, s.successes, s.standard_error, s.strategy == Strategy::kOurs});
  }
  return "<h2>" + std::to_string(table.boards) + " boards, a budget of " +
         digits(100.0 * table.budget, 0) + "% of what all could draw</h2><p>Means over " +
         std::to_string(table.runs) + " workloads, the same for every strategy; tasks that weigh " +
         digits(table.tasks, 1) + " together come in one.</p>" +
         plot::svg_bars(bars, "successes by weight; the small line is one standard error") +
         plot::html_table(rows);
}

std::string drawn(double budget_w, const std::vector<WattsTrace>& traces) {
  plot::Plot plot;
  plot.x_unit = "s";
  int colour = 0;
  for (const WattsTrace& trace : traces) {
    plot::PlotSeries series;
    series.name = std::string(name(trace.strategy)) + ", W";
    series.colour = colour++ % plot::kPlotColours;
    series.strong = trace.strategy == Strategy::kOurs;
    for (const WattsResult::Moment& m : trace.result.moments) {
      series.points.push_back({m.at_s, m.drawn_w, m.drawn_w, m.drawn_w});
    }
    plot.series.push_back(std::move(series));
  }
  return "<h2>What the fleet draws</h2><p>The first workload, means of five seconds; the budget "
         "is " +
         digits(budget_w, 1) + " W.</p>" + plot::svg_lines(plot);
}

}  // namespace

std::string watts_page(const std::vector<WattsTable>& tables, double budget_w,
                       const std::vector<WattsTrace>& traces) {
  std::string body =
      "<h1>Who gets the watts</h1><p class=lead>One power budget for many boards, divided in "
      "different ways, in virtual time around the core that the boards run. Waste is the part of "
      "the budget that nobody drew while some task was throttled.</p>";
  for (const WattsTable& table : tables) body += table_of(table);
  body += drawn(budget_w, traces);
  return plot::page("Who gets the watts", body);
}

}  // namespace laird::lab
