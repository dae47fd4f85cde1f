// A fleet's plan as people and programs are told it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/placement/fleet/fleet_instance.hpp"
#include "agent/placement/planner/plan.hpp"
#include "agent/placement/search/explain.hpp"
#include "json/value.hpp"

namespace laird::control {

struct FleetPlan {
  placement::FleetFacts facts;
  placement::FleetInstance of;
  placement::Plan plan;
  std::vector<std::string> changes;  // what was asked "what if", in words
  bool stopped = false;              // the person did not want to wait for a better one
};

// What the second best place of a task would cost.
struct RunnerUp {
  std::string place;
  placement::Seconds task_later_s = 0;  // below 0: the task would end sooner
  placement::Seconds all_later_s = 0;
  std::int64_t missed_weight_more = 0;
  std::int64_t energy_more_j = 0;
};
[[nodiscard]] std::optional<RunnerUp> runner_up(const FleetPlan& plan, std::size_t task);
[[nodiscard]] std::string words(const RunnerUp& of);

// Deadlines met and deadlines.
struct Deadlines {
  std::size_t met = 0;
  std::size_t all = 0;
};
[[nodiscard]] Deadlines deadlines_of(const FleetPlan& plan);

// One line: how many tasks, when all is done, what no plan can beat.
[[nodiscard]] std::string headline(const FleetPlan& plan);
// A line for each lane, `columns` wide at most; the tasks are letters.
[[nodiscard]] std::string gantt(const FleetPlan& plan, std::size_t columns);
// Headline, chart, a table of the tasks, and what the plan leaves out and takes for granted.
[[nodiscard]] std::string plan_text(const FleetPlan& plan, std::size_t columns);
// Why a task is where the plan has it.
[[nodiscard]] Result<std::string> why_there(const FleetPlan& plan, const std::string& task);
[[nodiscard]] json::Value plan_answer_json(const FleetPlan& plan);
[[nodiscard]] std::string plan_page(const FleetPlan& plan);

// What every plan of a fleet takes for granted, a sentence each.
[[nodiscard]] std::vector<std::string> assumptions();

}  // namespace laird::control
