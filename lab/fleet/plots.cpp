#include "lab/fleet/plots.hpp"

#include <algorithm>
#include <cstdio>

#include "plot/figures.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

using plot::escaped;
using plot::Plot;
using plot::PlotSeries;

constexpr double kStackSteps = 600;  // across a picture: about as many as can be seen
constexpr const char* kSince = "seconds since the first message";

PlotSeries series(std::string name, int colour, const std::vector<Sample>& samples,
                  bool strong = false, bool stepped = false) {
  PlotSeries out;
  out.name = std::move(name);
  out.colour = colour;
  out.strong = strong;
  out.stepped = stepped;
  for (const Sample& s : samples) out.points.push_back({s.at_s, s.value, s.value, s.value});
  return out;
}

Plot time_plot(const FleetRecording& recording, const FleetVerdict& verdict) {
  Plot plot;
  plot.x_unit = kSince;
  plot.y_unit = "W";
  plot.x_to = recording.seconds(recording.last_unix_us);
  for (const FleetMark& mark : marks_of(recording, verdict)) {
    plot.marks.push_back({mark.at_s, mark.text});
  }
  return plot;
}

double value_at(const std::vector<Sample>& samples, double at_s) {
  const auto after = std::upper_bound(samples.begin(), samples.end(), at_s,
                                      [](double at, const Sample& s) { return at < s.at_s; });
  return after == samples.begin() ? 0.0 : (after - 1)->value;
}

// What all boards asked for together; each board's last word counts until its next.
std::vector<Sample> asked_sum(const FleetRecording& recording) {
  std::vector<double> times;
  for (const auto& [id, node] : recording.nodes) {
    for (const Sample& s : node.asked_w) times.push_back(s.at_s);
  }
  std::sort(times.begin(), times.end());
  std::vector<Sample> out;
  for (const double at : times) {
    double sum = 0.0;
    for (const auto& [id, node] : recording.nodes) sum += value_at(node.asked_w, at);
    out.push_back({at, sum});
  }
  return out;
}

// The task is there from the first to the last point, and ran for so much of the time between two.
void add_spans(const RecordedTask& task, std::size_t row, plot::Timeline& out) {
  for (std::size_t i = 1; i < task.busy_s.size(); ++i) {
    const Sample& from = task.busy_s[i - 1];
    const Sample& to = task.busy_s[i];
    if (to.at_s <= from.at_s) continue;
    out.spans.push_back({row, from.at_s, to.at_s, 0.1, 7, "there"});
    const double ran = (to.value - from.value) / (to.at_s - from.at_s);
    if (ran <= 0.0) continue;
    char text[64];
    std::snprintf(text, sizeof text, "ran %.0f%% of the time", 100.0 * std::min(ran, 1.0));
    out.spans.push_back({row, from.at_s, to.at_s, std::max(ran, 0.15), 0, text});
  }
}

PlotSeries forecast_band(const RecordedTask& task) {
  PlotSeries out;
  out.name = "forecast for the deadline, nine of ten";
  out.colour = 2;
  out.strong = true;
  // The first forecasts know next to nothing: what lies outside the picture is cut off.
  double top = task.target;
  for (const Sample& s : task.loss) top = std::max(top, s.value);
  for (const Forecast& f : task.forecasts) {
    out.points.push_back(
        {f.at_s, std::min(f.low, top), std::min(f.high, top), std::min(f.loss, top)});
  }
  return out;
}

std::string task_plot(const RecordedTask& task) {
  Plot plot;
  plot.x_unit = "seconds";
  plot.y_unit = "loss";
  plot.width = 460;
  plot.height = 210;
  plot.x_from = task.loss.front().at_s;
  plot.x_to = task.deadline_at_s;
  if (!task.states.empty() && is_end(task.states.back().state)) {
    plot.marks.push_back({task.states.back().at_s, task.states.back().state});
  }
  plot.series.push_back(forecast_band(task));
  plot.series.push_back(series("loss", 0, task.loss, true));
  plot.series.push_back(
      series("target", 3,
             {{task.loss.front().at_s, task.target},
              {std::max(task.deadline_at_s, task.loss.back().at_s), task.target}}));
  plot.series.back().dashed = true;
  return "<div><b>" + escaped(task.name) + "</b> on " + escaped(task.node) +
         (task.out_of_reach ? ", out of reach by design" : "") + plot::svg_lines(plot) + "</div>";
}

}  // namespace

std::vector<FleetMark> marks_of(const FleetRecording& recording, const FleetVerdict& verdict) {
  if (!recording.marks.empty()) return recording.marks;
  std::vector<FleetMark> out;
  for (std::size_t i = 1; i < recording.budgets.size(); ++i) {
    char text[64];
    std::snprintf(text, sizeof text, "budget %g W",
                  static_cast<double>(recording.budgets[i].mw) * 1e-3);
    out.push_back({recording.seconds(recording.budgets[i].unix_us), text});
  }
  for (const Comeback& back : verdict.comebacks) {
    out.push_back({back.silent_at_s, back.node + " silent"});
    out.push_back({back.back_at_s, back.node + " back"});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const FleetMark& a, const FleetMark& b) { return a.at_s < b.at_s; });
  return out;
}

std::vector<Sample> caps_of(const FleetRecording& recording, const FleetNode& node) {
  std::vector<Sample> out;
  for (const SharePoint& p : node.shares) {
    out.push_back({recording.seconds(p.unix_us), static_cast<double>(p.enforced_mw) * 1e-3});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Sample& a, const Sample& b) { return a.at_s < b.at_s; });
  return out;
}

std::string budget_plot(const FleetRecording& recording, const FleetVerdict& verdict) {
  Plot plot = time_plot(recording, verdict);
  plot.series.push_back(series("budget", plot::kInk, verdict.budget_w, true, true));
  plot.series.push_back(series("caps in force, all boards", 1, verdict.enforced_w, false, true));
  const std::vector<Sample> asked = asked_sum(recording);
  if (!asked.empty()) {
    plot.series.push_back(series("asked for, all boards", 4, asked, false, true));
    plot.series.back().dashed = true;
  }
  plot.series.push_back(series("power drawn, all boards", 0, verdict.drawn_w, true));
  return plot::svg_lines(plot);
}

std::string shares_plot(const FleetRecording& recording, const FleetVerdict& verdict) {
  Plot plot = time_plot(recording, verdict);
  const double end = plot.x_to;
  const double step = std::max(end, 1.0) / kStackSteps;
  std::vector<double> below(static_cast<std::size_t>(kStackSteps) + 1, 0.0);
  int colour = 0;
  for (const auto& [id, node] : recording.nodes) {
    const std::vector<Sample> caps = caps_of(recording, node);
    PlotSeries layer;
    layer.name = id;
    layer.colour = plot::kMany + colour++;
    layer.filled = true;
    for (std::size_t i = 0; i < below.size(); ++i) {
      const double at = static_cast<double>(i) * step;
      const double top = below[i] + value_at(caps, at);
      layer.points.push_back({at, below[i], top, top});
      below[i] = top;
    }
    plot.series.push_back(std::move(layer));
  }
  PlotSeries budget = series("budget", plot::kInk, verdict.budget_w, true, true);
  plot.series.push_back(std::move(budget));
  return plot::svg_lines(plot);
}

std::string power_plot(const FleetRecording& recording, const FleetVerdict& verdict) {
  Plot plot = time_plot(recording, verdict);
  plot.gap_x = kPowerFreshS;
  int colour = 0;
  for (const auto& [id, node] : recording.nodes) {
    plot.series.push_back(series(id, plot::kMany + colour++, node.power_w));
  }
  return plot::svg_lines(plot);
}

std::string tasks_timeline(const FleetRecording& recording, const FleetVerdict& verdict) {
  plot::Timeline timeline;
  timeline.until = recording.seconds(recording.last_unix_us);
  timeline.x_unit = kSince;
  for (const FleetMark& mark : marks_of(recording, verdict)) timeline.moments.push_back(mark.at_s);
  for (const RecordedTask& task : recording.tasks) {
    const std::size_t row = timeline.rows.size();
    timeline.rows.push_back(task.name);
    add_spans(task, row, timeline);
    for (const Stretch& s : throttled_stretches(task, timeline.until)) {
      timeline.spans.push_back({row, s.from_s, s.to_s, 0.18, 1, "throttled"});
    }
    for (const StateChange& s : task.states) {
      if (s.state == "succeeded") timeline.marks.push_back({row, s.at_s, true});
    }
    if (task.deadline_at_s <= timeline.until) {
      timeline.marks.push_back({row, task.deadline_at_s, false});
    }
  }
  return plot::svg_timeline(timeline);
}

std::string task_plots(const FleetRecording& recording) {
  std::string out = "<div class=pair>";
  for (const RecordedTask& task : recording.tasks) {
    if (task.loss.size() >= 2) out += task_plot(task);
  }
  return out + "</div>";
}

}  // namespace laird::lab
