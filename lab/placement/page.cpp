#include <charconv>
#include <map>

#include "agent/placement/planner/timetable.hpp"
#include "lab/placement/study.hpp"
#include "plot/figures.hpp"
#include "plot/page.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

using plot::escaped;

double as_number(const std::string& text) {
  double out = 0.0;
  static_cast<void>(std::from_chars(text.data(), text.data() + text.size(), out));
  return out;
}

std::string percent(double part) { return plot::short_number(100.0 * part) + " %"; }

// Tasks that run at once on a board, each in a track of its own: the lowest that is free.
std::size_t free_track(std::vector<placement::Seconds>& ends, placement::Seconds start) {
  std::size_t track = 0;
  while (track < ends.size() && ends[track] > start) ++track;
  if (track == ends.size()) ends.push_back(0);
  return track;
}

}  // namespace

std::string study_page(const StudyOptions& options, const std::vector<StudyRow>& rows) {
  std::string body = "<h1>Placement: solvers beside each other</h1><p class=lead>" +
                     std::string(options.paper ? "The MemBatch paper's tasks" : "Generated tasks") +
                     " on " + std::to_string(options.boards) +
                     " boards. The gap is to a bound that no plan can beat.</p>";
  for (const std::string& mode : options.modes) {
    plot::Plot lines;
    lines.x_unit = "tasks";
    lines.y_unit = "makespan h";
    std::map<std::string, plot::PlotSeries> series;
    for (const StudyRow& r : rows) {
      if (r.mode != mode || r.failed == r.runs) continue;
      const int colour = static_cast<int>(series.size()) % plot::kPlotColours;
      plot::PlotSeries& s =
          series.try_emplace(r.solver, plot::PlotSeries{r.solver, colour, {}, r.solver == "search"})
              .first->second;
      s.points.push_back({as_number(r.tasks), r.makespan_h, r.makespan_h, r.makespan_h});
    }
    for (auto& [name, s] : series) lines.series.push_back(std::move(s));
    body += "<h2>Mode " + mode + "</h2>" + plot::svg_lines(lines);
  }
  std::vector<std::vector<std::string>> table = {{"tasks", "mode", "solver", "makespan h", "gap",
                                                  "worst gap", "GPU use", "deadlines met",
                                                  "CPU s"}};
  for (const StudyRow& r : rows) {
    if (r.failed == r.runs) {
      table.push_back({r.tasks, r.mode, r.solver, escaped(r.error)});
      continue;
    }
    table.push_back({r.tasks, r.mode, r.solver, plot::short_number(r.makespan_h), percent(r.gap),
                     percent(r.gap_max), percent(r.utilisation), percent(r.weight_met),
                     plot::short_number(r.cpu_s)});
  }
  return plot::page("Placement", body + plot::html_table(table));
}

std::string plan_page(const placement::Instance& instance, const placement::Plan& plan) {
  plot::Timeline timeline;
  timeline.x_unit = "h";
  timeline.until = static_cast<double>(plan.objective.makespan_s) / 3600.0;
  const std::vector<placement::Order> orders = placement::orders_of(instance, plan.tasks);
  for (std::size_t b = 0; b < orders.size(); ++b) {
    std::vector<placement::Seconds> ends;
    std::vector<std::size_t> tracks;
    for (const int t : orders[b]) {
      const auto task = static_cast<std::size_t>(t);
      const std::size_t track = free_track(ends, plan.tasks[task].start_s);
      ends[track] = placement::finish_of(instance, plan, task);
      tracks.push_back(track);
    }
    const std::size_t first = timeline.rows.size();
    for (std::size_t i = 0; i < std::max<std::size_t>(ends.size(), 1); ++i) {
      timeline.rows.push_back(i == 0 ? instance.boards[b].name : "");
    }
    for (std::size_t i = 0; i < orders[b].size(); ++i) {
      const auto task = static_cast<std::size_t>(orders[b][i]);
      const placement::Choice& c = instance.choice(task, b);
      plot::TimelineSpan span;
      span.row = first + tracks[i];
      span.from = static_cast<double>(plan.tasks[task].start_s) / 3600.0;
      span.to = span.from + static_cast<double>(c.time_s) / 3600.0;
      span.colour = orders[b][i] % plot::kPlotColours;
      span.what = instance.tasks[task].name;
      timeline.spans.push_back(std::move(span));
    }
  }
  const std::string body =
      "<h1>Plan of " + escaped(instance.name) + "</h1><p class=lead>Ends after " +
      plot::short_number(timeline.until) + " h; no plan ends before " +
      plot::short_number(static_cast<double>(plan.bound_s) / 3600.0) + " h. Mode " +
      std::string(placement::name(instance.mode)) + ".</p>" + plot::svg_timeline(timeline);
  return plot::page("Plan: " + instance.name, body);
}

}  // namespace laird::lab
