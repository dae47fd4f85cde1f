// A fleet's plan as a page that works without a network.
#include <algorithm>

#include "agent/placement/planner/timetable.hpp"
#include "control/plan/plan_answer.hpp"
#include "plot/figures.hpp"
#include "plot/page.hpp"

namespace laird::control {
namespace {

using placement::Seconds;
using plot::escaped;

constexpr double kHour = 3600.0;
constexpr double kMinutes = 60.0;

struct Unit {
  double seconds;
  const char* name;
};

Unit unit_for(Seconds end) {
  if (end >= 2 * 3600) return {kHour, "h"};
  if (end >= 2 * 60) return {kMinutes, "min"};
  return {1.0, "s"};
}

std::string picture(const FleetPlan& plan) {
  const placement::Instance& instance = plan.of.instance;
  const Unit unit = unit_for(plan.plan.objective.makespan_s);
  const auto at = [&](Seconds s) { return static_cast<double>(s) / unit.seconds; };
  plot::Timeline timeline;
  timeline.x_unit = unit.name;
  timeline.until = std::max(at(plan.plan.objective.makespan_s), 1e-3);
  for (const placement::PlannedBoard& board : instance.boards) {
    timeline.rows.push_back(board.name + (board.closed.empty() ? "" : " (takes no one)"));
  }
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
    const auto row = static_cast<std::size_t>(plan.plan.tasks[t].board);
    plot::TimelineSpan span;
    span.row = row;
    span.from = at(plan.plan.tasks[t].start_s);
    span.to = at(placement::finish_of(instance, plan.plan, t));
    span.colour = static_cast<int>(t) % plot::kPlotColours;
    span.what = instance.tasks[t].name;
    timeline.spans.push_back(std::move(span));
    const Seconds deadline = instance.tasks[t].deadline_s;
    if (deadline <= plan.plan.objective.makespan_s) {
      timeline.marks.push_back({row, at(deadline), false});
    }
  }
  return plot::svg_timeline(timeline);
}

}  // namespace

std::string plan_page(const FleetPlan& plan) {
  const placement::Instance& instance = plan.of.instance;
  std::string body = "<h1>Plan of the fleet " + escaped(plan.facts.fleet) + "</h1><p class=lead>" +
                     escaped(headline(plan)) + "</p>";
  if (!plan.of.tasks.empty()) {
    body += "<h2>Who runs what</h2><p>A row is a lane of a board; a mark is a deadline.</p>" +
            picture(plan);
    std::vector<std::vector<std::string>> rows = {{"task", "where", "from s", "until s",
                                                   "deadline s", "met", "time known by",
                                                   "speed known by"}};
    for (std::size_t t = 0; t < instance.tasks.size(); ++t) {
      const auto lane = static_cast<std::size_t>(plan.plan.tasks[t].board);
      rows.push_back({escaped(instance.tasks[t].name), escaped(instance.boards[lane].name),
                      std::to_string(plan.plan.tasks[t].start_s),
                      std::to_string(placement::finish_of(instance, plan.plan, t)),
                      std::to_string(instance.tasks[t].deadline_s),
                      placement::in_time(instance, plan.plan, t) ? "yes" : "no",
                      std::string(placement::name(plan.of.known_by[t])),
                      std::string(placement::name(plan.of.speed_basis(t, lane)))});
    }
    body += plot::html_table(rows);
  }
  for (const auto& left : plan.of.left_out) {
    body += "<p>Not planned: " + escaped(left.task) + ": " + escaped(left.why) + "</p>";
  }
  body += "<h2>What is assumed</h2><ul>";
  for (const std::string& line : assumptions()) body += "<li>" + escaped(line) + "</li>";
  return plot::page("Plan of " + plan.facts.fleet, body + "</ul>");
}

}  // namespace laird::control
