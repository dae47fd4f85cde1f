#include "lab/governor/page.hpp"

#include <cmath>

#include "base/duration.hpp"
#include "power/report/summary.hpp"

namespace laird::lab {
namespace {

using plot::escaped;
using plot::Plot;
using plot::PlotSeries;
using plot::short_number;
using power::BucketedTrace;

std::string signed_percent(double v) {
  return (v < 0 ? "&minus;" : "+") + short_number(std::fabs(v)) + " %";
}

std::string cell(const std::string& text, bool good) {
  return "<td class=" + std::string(good ? "ok" : "bad") + ">" + text + "</td>";
}

std::string table(const std::vector<LoopResult>& results) {
  std::string out =
      "<div class=scroll><table><tr><th>scenario</th><th>time</th><th>mean to cap</th><th>to "
      "best</th>"
      "<th>above cap + 5 %</th><th>settles in</th><th>moves</th><th>steady, in 2 s</th></tr>";
  for (const LoopResult& r : results) {
    out += "<tr><td>" + escaped(r.name) + "</td><td>" + short_number(r.seconds) + " s</td>";
    out += cell(signed_percent(r.mean_to_cap_percent), std::fabs(r.mean_to_cap_percent) <= 2);
    out += cell(signed_percent(r.mean_to_best_percent), std::fabs(r.mean_to_best_percent) <= 2);
    out += cell(short_number(r.above_percent_of_time) + " %", r.above_percent_of_time < 1);
    out += r.steps == 0 ? std::string("<td>-</td>")
                        : cell(spoken_seconds(r.settle_seconds_max), r.settled);
    out += "<td>" + std::to_string(r.moves) + "</td>";
    out += cell(std::to_string(r.steady_moves_per_2s_max), r.steady_moves_per_2s_max <= 1);
    out += "</tr>";
  }
  return out + "</table></div>";
}

// One value of the trace over time, thinned to what a picture can show.
template <class F>
PlotSeries series(const LoopResult& r, const char* name, int colour, bool strong, F value) {
  BucketedTrace trace;
  for (const TracePoint& p : r.trace) trace.add(static_cast<TimeNs>(p.at_s * 1e9), value(p));
  return PlotSeries{name, colour, trace.points(1.0), strong, false};
}

std::string plots(const LoopResult& r) {
  Plot watts;
  watts.x_unit = "s";
  watts.y_unit = "W";
  watts.series = {
      series(r, "demand", 7, false, [](const TracePoint& p) { return p.demand_w; }),
      series(r, "power", 0, true, [](const TracePoint& p) { return p.power_w; }),
      series(r, "cap", 1, false, [](const TracePoint& p) { return p.cap_w; }),
  };
  Plot gate;
  gate.x_unit = "s";
  gate.y_unit = "gate %";
  gate.height = 130;
  gate.series = {
      series(r, "step gate", 4, false, [](const TracePoint& p) { return 0.1 * p.gate_permille; })};
  return "<h2>" + escaped(r.name) + "</h2>" + plot::svg_lines(watts) + plot::svg_lines(gate);
}

}  // namespace

std::string governor_page(const power::Board& board, const std::vector<LoopResult>& results) {
  std::string body = "<h1>Governor on a modelled " + escaped(board.title) + "</h1>";
  body +=
      "<p class=lead>Demand is what the load would draw if nothing held it back. Asked for: mean "
      "within 2 % of the cap while demand exceeds it, above cap + 5 % less than 1 % of the time, "
      "settled within 5 s of a step, no more than one move in 2 s of steady state.</p>";
  body += table(results);
  for (const LoopResult& r : results) body += plots(r);
  return plot::page("Governor: " + board.title, body);
}

}  // namespace laird::lab
