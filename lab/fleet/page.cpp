#include "lab/fleet/page.hpp"

#include <algorithm>
#include <cstdio>

#include "power/report/svg_plot.hpp"

namespace laird::lab {
namespace {

using power::escaped;
using power::Plot;
using power::PlotSeries;

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

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

// All boards' power at each second, from each one's newest reading not older than 3 s.
std::vector<Sample> power_sum(const FleetRecording& recording) {
  const double end = recording.seconds(recording.last_unix_us);
  std::vector<Sample> out;
  for (double t = 1.0; t <= end; t += 1.0) {
    double sum = 0.0;
    for (const auto& [id, node] : recording.nodes) {
      const auto after = std::upper_bound(node.power_w.begin(), node.power_w.end(), t,
                                          [](double at, const Sample& s) { return at < s.at_s; });
      if (after == node.power_w.begin()) continue;
      const Sample& newest = *(after - 1);
      if (t - newest.at_s <= 3.0) sum += newest.value;
    }
    out.push_back({t, sum});
  }
  return out;
}

std::string section(const char* title, const char* says, const std::string& body) {
  return std::string("<h2>") + title + "</h2><p>" + says + "</p>" + body;
}

std::string shares_plot(const FleetRecording& recording) {
  Plot plot;
  plot.x_unit = "s";
  plot.y_unit = "W";
  int colour = 0;
  for (const auto& [id, node] : recording.nodes) {
    std::vector<Sample> samples;
    for (const SharePoint& p : node.shares) {
      samples.push_back({recording.seconds(p.unix_us), static_cast<double>(p.enforced_mw) * 1e-3});
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const Sample& a, const Sample& b) { return a.at_s < b.at_s; });
    plot.series.push_back(series(id, colour++ % power::kPlotColours, samples, false, true));
  }
  return power::svg_lines(plot);
}

std::string budget_plot(const FleetRecording& recording, const FleetVerdict& verdict) {
  Plot plot;
  plot.x_unit = "s";
  plot.y_unit = "W";
  plot.series.push_back(series("budget", 3, verdict.budget_w, true, true));
  plot.series.push_back(series("caps enforced, all boards", 1, verdict.enforced_w, false, true));
  plot.series.push_back(series("power drawn, all boards", 0, power_sum(recording), true));
  return power::svg_lines(plot);
}

std::string power_plot(const FleetRecording& recording) {
  Plot plot;
  plot.x_unit = "s";
  plot.y_unit = "W";
  plot.gap_x = 5.0;
  int colour = 0;
  for (const auto& [id, node] : recording.nodes) {
    plot.series.push_back(series(id, colour++ % power::kPlotColours, node.power_w));
  }
  return power::svg_lines(plot);
}

std::string task_rows(const FleetRecording& recording) {
  std::string out =
      "<table><tr><th>task</th><th>board</th><th>end</th><th>at</th><th>deadline</th>"
      "<th>loss</th><th>target</th><th>energy</th></tr>";
  for (const FleetTask& task : recording.tasks) {
    const StateChange end = task.states.empty() ? StateChange{} : task.states.back();
    out += "<tr><td>" + escaped(task.name) + "</td><td>" + escaped(task.node) + "</td><td>" +
           escaped(end.state) + "</td><td>" + format("%.0f s", end.at_s) + "</td><td>" +
           format("%.0f s", task.deadline_at_s) + "</td><td>" +
           (task.loss.empty() ? "-" : format("%.4g", task.loss.back().value)) + "</td><td>" +
           format("%.4g", task.target) + "</td><td>" +
           (task.energy_j < 0 ? "-" : format("%.0f J", task.energy_j)) + "</td></tr>";
  }
  return out + "</table>";
}

std::string task_plots(const FleetRecording& recording) {
  std::string out =
      "<div style=\"display:grid;grid-template-columns:repeat(auto-fit,"
      "minmax(420px,1fr));gap:1rem\">";
  for (const FleetTask& task : recording.tasks) {
    if (task.loss.size() < 2) continue;
    Plot plot;
    plot.x_unit = "s";
    plot.y_unit = "loss";
    plot.width = 460;
    plot.height = 200;
    plot.series.push_back(series("loss", 0, task.loss, true));
    plot.series.push_back(series("forecast at the deadline", 2, task.forecast));
    const std::vector<Sample> target = {{task.loss.front().at_s, task.target},
                                        {task.loss.back().at_s, task.target}};
    plot.series.push_back(series("target", 3, target));
    out += "<div><b>" + escaped(task.name) + "</b> on " + escaped(task.node) +
           power::svg_lines(plot) + "</div>";
  }
  return out + "</div>";
}

std::string event_rows(const FleetRecording& recording) {
  std::string out = "<table><tr><th>at</th><th>board</th><th>what</th><th></th></tr>";
  std::vector<FleetEvent> all = recording.events;
  for (const auto& [id, node] : recording.nodes) {
    for (const StateChange& s : node.states) all.push_back({s.at_s, id, "status", s.state});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const FleetEvent& a, const FleetEvent& b) { return a.at_s < b.at_s; });
  for (const FleetEvent& e : all) {
    out += "<tr><td>" + format("%.1f s", e.at_s) + "</td><td>" + escaped(e.node) + "</td><td>" +
           escaped(e.kind) + "</td><td>" + escaped(e.text) + "</td></tr>";
  }
  return out + "</table>";
}

std::string yes_or_no(bool good, const std::string& text) {
  return std::string("<li>") + (good ? "&#10003; " : "<b>&#10007; BROKEN</b> ") + escaped(text) +
         "</li>";
}

std::vector<std::pair<bool, std::string>> findings(const FleetVerdict& v) {
  const double most =
      100.0 * static_cast<double>(v.most_parts) / static_cast<double>(v.whole_parts);
  std::vector<std::pair<bool, std::string>> out;
  out.emplace_back(v.shares_kept(), "shares never exceeded the budget: at most " +
                                        format("%.6f", most) + "% given out at once, checked at " +
                                        std::to_string(v.instants) + " instants");
  out.emplace_back(v.budget_kept(),
                   "the boards' power caps together stayed within the budget" +
                       (v.cut_settled_s > 0.0 ? "; a cut was in force everywhere after " +
                                                    format("%.1f s", v.cut_settled_s)
                                              : std::string()));
  out.emplace_back(v.tasks_ended_twice == 0,
                   std::to_string(v.tasks_ended) + " of " + std::to_string(v.tasks) +
                       " tasks ended, none twice; " + std::to_string(v.tasks_succeeded) +
                       " reached their target in time");
  return out;
}

}  // namespace

std::string fleet_page(const FleetRecording& recording, const FleetVerdict& verdict) {
  std::string verdicts = "<ul style=\"list-style:none;padding-left:0\">";
  for (const auto& [good, text] : findings(verdict)) verdicts += yes_or_no(good, text);
  verdicts += "</ul>";
  const std::string title = "A fleet of " + std::to_string(recording.nodes.size()) + " boards";
  const std::string summary =
      "<p>" + format("%.0f s", recording.seconds(recording.last_unix_us)) + ", " +
      std::to_string(recording.messages) +
      " messages, recorded at the broker; power is what the boards report.</p>";
  return power::page(
      title,
      "<h1>" + title + "</h1>" + summary + verdicts +
          section(
              "Power against the budget",
              "The budget, the sum of the caps in force, and what all boards drew (means of 5 s).",
              budget_plot(recording, verdict)) +
          section("Shares", "The power cap of each board: its floor and its share of the rest.",
                  shares_plot(recording)) +
          section("Power", "What each board drew, means of five seconds.", power_plot(recording)) +
          section("Tasks", "", task_rows(recording)) +
          section("Learning curves and forecasts",
                  "The loss as reported, and the forecast of the loss at the deadline as it was "
                  "at each time.",
                  task_plots(recording)) +
          section("What happened", "", event_rows(recording)));
}

std::string fleet_text(const FleetRecording& recording, const FleetVerdict& verdict) {
  std::string out;
  for (const auto& [good, text] : findings(verdict)) {
    out += (good ? "ok      " : "BROKEN  ") + text + "\n";
  }
  if (recording.unreadable > 0) {
    out += "note    " + std::to_string(recording.unreadable) + " lines could not be read\n";
  }
  return out;
}

}  // namespace laird::lab
