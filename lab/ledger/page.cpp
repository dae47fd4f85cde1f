#include "lab/ledger/page.hpp"

#include <algorithm>
#include <cmath>

#include "plot/svg_plot.hpp"

namespace laird::lab {

std::string line_chart(const std::string& title, const std::vector<std::vector<double>>& series,
                       const std::string& y_unit, bool log_scale) {
  plot::Plot plot;
  plot.x_unit = "tick";
  plot.y_unit = log_scale ? "log10 " + y_unit : y_unit;
  plot.from_zero = !log_scale;
  for (const std::vector<double>& values : series) {
    plot::PlotSeries line;
    line.name =
        series.size() <= plot::kPlotColours ? "run " + std::to_string(plot.series.size() + 1) : "";
    line.colour = static_cast<int>(plot.series.size()) % plot::kPlotColours;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (log_scale && values[i] <= 0) continue;
      const double y = log_scale ? std::log10(values[i]) : values[i];
      line.points.push_back({static_cast<double>(i + 1), y, y, y});
    }
    if (!line.points.empty()) plot.series.push_back(std::move(line));
  }
  const std::string head = "<h2>" + plot::escaped(title) + "</h2>\n";
  if (plot.series.empty()) return head + "<p>Nothing to draw.</p>\n";
  return head + plot::svg_lines(plot);
}

std::string ledger_page(const ConvergenceConfig& config,
                        const std::vector<ConvergenceResult>& runs) {
  std::vector<std::vector<double>> gaps;
  std::vector<std::vector<double>> use;
  std::vector<std::vector<double>> bytes;
  for (const ConvergenceResult& r : runs) {
    gaps.push_back(r.gaps);
    use.push_back(r.in_use);
    bytes.push_back(r.bytes);
  }
  std::string body = "<h1>Share ledger: " + std::to_string(config.nodes) + " boards, " +
                     std::to_string(runs.size()) + " runs</h1>\n<p>Loss " +
                     plot::short_number(config.network.loss) + ", repeats " +
                     plot::short_number(config.network.duplicate) + ", delay " +
                     std::to_string(config.network.delay_min) + " to " +
                     std::to_string(config.network.delay_max) + " ticks.</p>\n";
  body += line_chart("Gap to the optimum", gaps, "relative cost above the optimum", true);
  body += line_chart("Budget in use (never above 1)", use, "part of the budget", false);
  body += line_chart("Payload sent per board", bytes, "bytes, summed up", false);
  return plot::page("Share ledger", body);
}

}  // namespace laird::lab
