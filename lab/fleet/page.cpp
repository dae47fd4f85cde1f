#include "lab/fleet/page.hpp"

#include <algorithm>
#include <cstdio>

#include "base/duration.hpp"
#include "lab/fleet/plots.hpp"
#include "plot/figures.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {
namespace {

using plot::escaped;

constexpr std::size_t kTextTasksMax = 64;

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string counted(std::uint64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string section(const char* title, const std::string& says, const std::string& body) {
  return std::string("<h2>") + title + "</h2><p>" + says + "</p>" + body;
}

// How a task ended, in a word or two.
std::string end_of(const RecordedTask& task) {
  const StateChange last = task.states.empty() ? StateChange{} : task.states.back();
  if (last.state == "missed" && task.out_of_reach) return "missed, by design";
  return last.state.empty() ? "-" : last.state;
}

std::string end_at(const RecordedTask& task) {
  const bool over = !task.states.empty() && is_end(task.states.back().state);
  return over ? format("%.0f s", task.states.back().at_s) : "-";
}

// What the forecast said half-way between the first report and the end.
std::string likely_half_way(const RecordedTask& task) {
  if (task.forecasts.empty() || task.states.empty()) return "-";
  const double half = (task.states.front().at_s + task.states.back().at_s) / 2;
  const Forecast* seen = &task.forecasts.front();
  for (const Forecast& f : task.forecasts) {
    if (f.at_s <= half) seen = &f;
  }
  return format("%.0f%%", 100.0 * seen->probability);
}

std::vector<std::vector<std::string>> task_table(const FleetRecording& recording) {
  std::vector<std::vector<std::string>> rows = {
      {"task", "board", "end", "at", "deadline", "loss", "target", "likely half-way", "energy"}};
  for (const RecordedTask& task : recording.tasks) {
    rows.push_back({task.name, task.node, end_of(task), end_at(task),
                    format("%.0f s", task.deadline_at_s),
                    task.loss.empty() ? "-" : format("%.4g", task.loss.back().value),
                    format("%.4g", task.target), likely_half_way(task),
                    task.energy_j < 0 ? "-" : format("%.0f J", task.energy_j)});
  }
  return rows;
}

std::string event_table(const FleetRecording& recording, const FleetVerdict& verdict) {
  std::vector<FleetEvent> all = recording.events;
  for (const auto& [id, node] : recording.nodes) {
    for (const StateChange& s : node.states) all.push_back({s.at_s, id, "status", s.state});
  }
  for (const FleetMark& mark : marks_of(recording, verdict)) {
    all.push_back({mark.at_s, "", "done to it", mark.text});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const FleetEvent& a, const FleetEvent& b) { return a.at_s < b.at_s; });
  std::vector<std::vector<std::string>> rows = {{"at", "board", "kind", "what"}};
  for (const FleetEvent& e : all) {
    rows.push_back({format("%.1f s", e.at_s), e.node, e.kind, e.text});
  }
  return "<div class=said>" + plot::html_table(rows) + "</div>";
}

std::string comeback_text(const Comeback& back) {
  std::string out =
      back.node + " was away for " + spoken_seconds(back.back_at_s - back.silent_at_s);
  for (const Comeback::Resumed& r : back.tasks) {
    out += r.samples_after > 0.0
               ? "; " + r.task + " went on from sample " + format("%.0f", r.samples_after) +
                     " (its last word before: " + format("%.0f", r.samples_before) + ")"
               : "; " + r.task + " began anew";
  }
  return out;
}

std::string tasks_text(const FleetVerdict& v) {
  const std::uint64_t could = v.tasks - v.tasks_out_of_reach;
  const std::uint64_t did = v.tasks_succeeded - v.out_of_reach_succeeded;
  std::string out =
      std::to_string(did) + " of " + counted(could, "task") + " reached the target loss in time";
  if (v.tasks_out_of_reach > 0) {
    out += "; " + std::to_string(v.tasks_out_of_reach) + " more " +
           (v.tasks_out_of_reach == 1 ? "was" : "were") + " out of reach by design, and " +
           (v.out_of_reach_succeeded == 0
                ? "missed it"
                : std::to_string(v.out_of_reach_succeeded) + " of them reached it all the same");
  }
  return out;
}

std::string spread_text(const Spread& spread) {
  return format("%.1f W on average", spread.mean) + format(" and %.1f W at most", spread.peak) +
         format(" (at %.0f s)", spread.peak_at_s);
}

// What each board asked for, had and drew, and how long its tasks were throttled.
std::string boards_table(const FleetRecording& recording) {
  const double end_s = recording.seconds(recording.last_unix_us);
  std::vector<std::vector<std::string>> rows = {{"board", "asked, mean", "asked, peak", "cap, mean",
                                                 "cap, peak", "drawn, mean", "drawn, peak",
                                                 "cap not drawn", "throttled"}};
  for (const auto& [id, node] : recording.nodes) {
    const std::vector<Sample> caps = caps_of(recording, node);
    const Spread cap = spread_of(caps, end_s);
    const Spread drawn = spread_of(node.power_w, end_s, kPowerFreshS);
    std::vector<std::string> row = {id};
    const auto add = [&row](const Spread& spread, bool known) {
      row.push_back(known ? format("%.1f W", spread.mean) : "-");
      row.push_back(known ? format("%.1f W", spread.peak) : "-");
    };
    add(spread_of(node.asked_w, end_s), !node.asked_w.empty());
    add(cap, !caps.empty());
    add(drawn, !node.power_w.empty());
    const bool both = !caps.empty() && !node.power_w.empty();
    row.push_back(both ? format("%.1f W", std::max(0.0, cap.mean - drawn.mean)) : "-");
    row.push_back(spoken_seconds(throttled_s(recording, id)));
    rows.push_back(std::move(row));
  }
  return plot::html_table(rows);
}

std::vector<std::pair<bool, std::string>> findings(const FleetVerdict& v) {
  const double most =
      100.0 * static_cast<double>(v.most_parts) / static_cast<double>(v.whole_parts);
  std::vector<std::pair<bool, std::string>> out;
  out.emplace_back(v.shares_kept(), "shares never added up to more than the budget: at most " +
                                        format("%.6g", most) + "% at once, at " +
                                        std::to_string(v.instants) + " changes");
  std::string caps =
      "the power caps of all boards together stayed within the budget: " + spread_text(v.enforced);
  if (v.cuts > 0) {
    caps += v.cut_settled_s < 0.1
                ? "; a cut of it held everywhere within 0.1 s"
                : "; a cut of it held everywhere after " + spoken_seconds(v.cut_settled_s);
  }
  out.emplace_back(v.budget_kept(), caps);
  if (v.drawn_most_w > 0.0) {
    out.emplace_back(v.drawn_kept(), "the boards together drew " + spread_text(v.drawn) +
                                         ", and came closest to the budget with " +
                                         format("%.1f W", v.drawn_most_w) +
                                         format(" of %.0f W", v.drawn_budget_w) +
                                         format(" at %.0f s", v.drawn_at_s) + " (means of " +
                                         spoken_seconds(kDrawnWindowS) + ")");
  }
  if (v.throttled_seconds > 0) {
    out.emplace_back(v.drawn_where_wanted(),
                     "while some task was throttled, " + std::to_string(v.throttled_seconds) +
                         " s of the time, the boards drew " +
                         format("%.0f", 100.0 * v.drawn_throttled_part) + "% of the budget");
  }
  out.emplace_back(v.tasks_ended_twice == 0, std::to_string(v.tasks_ended) + " of " +
                                                 counted(v.tasks, "task") +
                                                 " ended, none of them twice");
  for (const Comeback& back : v.comebacks) {
    const bool anew = std::any_of(back.tasks.begin(), back.tasks.end(),
                                  [](const auto& r) { return r.samples_after <= 0.0; });
    out.emplace_back(!anew, comeback_text(back));
  }
  return out;
}

std::string card(const std::string& number, const std::string& what) {
  return "<div class=card><b>" + escaped(number) + "</b><span>" + escaped(what) + "</span></div>";
}

std::string cards(const FleetRecording& recording, const FleetVerdict& v) {
  std::string budget;
  for (const BudgetChange& b : recording.budgets) {
    budget += (budget.empty() ? "" : " → ") + format("%g W", static_cast<double>(b.mw) * 1e-3);
  }
  double energy_j = 0.0;
  for (const RecordedTask& task : recording.tasks) energy_j += std::max(0.0, task.energy_j);
  const std::uint64_t could = v.tasks - v.tasks_out_of_reach;
  return "<div class=cards>" +
         card(std::to_string(v.tasks_succeeded - v.out_of_reach_succeeded) + " of " +
                  std::to_string(could),
              "tasks reached their target") +
         (v.tasks_out_of_reach > 0
              ? card(std::to_string(v.tasks_out_of_reach), "out of reach by design")
              : "") +
         card(budget.empty() ? "none" : budget, "power budget") +
         card(format("%.6g%%", 100.0 * static_cast<double>(v.most_parts) /
                                   static_cast<double>(v.whole_parts)),
              "of it given out, at most") +
         card(format("%.0f J", energy_j), "spent on the tasks") + "</div>";
}

std::string verdict_box(const FleetVerdict& verdict) {
  std::string out = "<div class=\"card verdict\"><ul>";
  for (const auto& [good, text] : findings(verdict)) {
    out += std::string("<li>") +
           (good ? "<i class=ok>&#10003;</i>" : "<i class=bad>&#10007; BROKEN</i>") + " " +
           escaped(text) + "</li>";
  }
  out += "<li><i>&#8226;</i> " + escaped(tasks_text(verdict)) + "</li>";
  return out + "</ul></div>";
}

std::string power_is(const FleetRecording& recording) {
  const bool modelled =
      std::any_of(recording.nodes.begin(), recording.nodes.end(),
                  [](const auto& n) { return n.second.power_source == "modelled"; });
  return modelled ? "Power is modelled from the boards' files, not measured."
                  : "Power is what the boards report.";
}

constexpr const char* kStyle =
    "<style>.verdict ul{list-style:none;padding:0;margin:4px 0}.verdict li{padding:2px 0 2px 26px;"
    "text-indent:-26px}.verdict i{font-style:normal;display:inline-block;min-width:22px;"
    "text-indent:0}"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));"
    "gap:1.2rem 1rem}"
    ".said td:last-child,.said th:last-child{text-align:left;white-space:normal;width:60%}"
    "@media(max-width:700px){.said td:last-child{grid-column:1/-1;width:auto}}</style>";

}  // namespace

std::string fleet_page(const FleetRecording& recording, const FleetVerdict& verdict) {
  const std::string title = "A fleet of " + counted(recording.nodes.size(), "board");
  const std::string summary = "<p>" + spoken_seconds(recording.seconds(recording.last_unix_us)) +
                              ", " + std::to_string(recording.messages) +
                              " messages, recorded at the broker. " + power_is(recording) + "</p>";
  const std::string body =
      "<h1>" + title + "</h1>" + summary + cards(recording, verdict) + verdict_box(verdict) +
      section(
          "Power against the budget",
          "The budget, the caps in force added up, what the boards asked for, and what all boards "
          "drew: means of five seconds, so what is drawn follows a cut that much later. Caps: " +
              spread_text(verdict.enforced) + ". Drawn: " + spread_text(verdict.drawn) + ".",
          budget_plot(recording, verdict)) +
      section("Who may draw how much",
              "The power cap of each board, its floor and its share of the rest, one upon the "
              "other. They fill the budget and never exceed it. What a silent board held, and what "
              "was on its way to it, is nobody's until its lease ends.",
              shares_plot(recording, verdict)) +
      section("What each board drew",
              "Means of five seconds. <i>Cap not drawn</i> is the mean of what a board held and "
              "nobody used, <i>throttled</i> the time of all its tasks together.",
              power_plot(recording, verdict) + boards_table(recording)) +
      section("Tasks",
              "The higher the blue, the more of the time the task ran; a grey line: it waited; an "
              "orange line: it was throttled. A green dot: it reached its target; an upright bar: "
              "its deadline. <i>Likely "
              "half-way</i> is the forecast of success half-way to its end.",
              tasks_timeline(recording, verdict) + plot::html_table(task_table(recording))) +
      section("Learning curves and forecasts",
              "The loss as reported, and the forecast of the loss at the deadline as it was at "
              "each time.",
              task_plots(recording)) +
      section("What happened", "Events and states as the boards told them.",
              event_table(recording, verdict));
  return plot::page(title, kStyle + body);
}

std::string fleet_text(const FleetRecording& recording, const FleetVerdict& verdict) {
  std::string out;
  for (const auto& [good, text] : findings(verdict)) {
    out += (good ? "ok      " : "BROKEN  ") + text + "\n";
  }
  out += "tasks   " + tasks_text(verdict) + "\n";
  if (recording.unreadable > 0) {
    out += "note    " + std::to_string(recording.unreadable) + " lines could not be read\n";
  }
  return out;
}

std::string tasks_table_text(const FleetRecording& recording) {
  const auto rows = task_table(recording);
  std::vector<std::size_t> wide(rows.front().size(), 0);
  const std::size_t shown = std::min(rows.size(), kTextTasksMax + 1);
  for (std::size_t r = 0; r < shown; ++r) {
    for (std::size_t c = 0; c < wide.size(); ++c) wide[c] = std::max(wide[c], rows[r][c].size());
  }
  std::string out;
  for (std::size_t r = 0; r < shown; ++r) {
    std::string line;
    for (std::size_t c = 0; c < wide.size(); ++c) {
      const std::string pad(wide[c] - rows[r][c].size(), ' ');
      line += (c == 0 ? "" : "  ") + (c < 3 ? rows[r][c] + pad : pad + rows[r][c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < rows.size()) out += "... and " + std::to_string(rows.size() - shown) + " more\n";
  return out;
}

}  // namespace laird::lab
