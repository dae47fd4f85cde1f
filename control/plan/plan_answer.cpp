#include "control/plan/plan_answer.hpp"

#include <algorithm>

#include "agent/placement/planner/instance_json.hpp"
#include "agent/placement/planner/plan_json.hpp"
#include "agent/placement/planner/timetable.hpp"
#include "control/screen/output.hpp"

namespace laird::control {
namespace {

using json::Value;
using placement::Seconds;

constexpr std::size_t kBarMin = 20;
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
// To find a task's second best place, the plan is timed anew for every other lane and place in its
// order. Beyond so much work for all tasks, some tenths of a second, it is done only when asked.
constexpr double kExplainedWorkMax = 2e7;
// So many other places of a task are told, the best ones.
constexpr std::size_t kPlacesToldMax = 20;

std::string span(Seconds s) { return span_text(static_cast<double>(s)); }

char letter_of(std::size_t task) { return task < kLetters.size() ? kLetters[task] : '#'; }

const placement::TaskFact& fact_of(const FleetPlan& plan, std::size_t task) {
  return plan.facts.tasks[plan.of.tasks[task]];
}

std::size_t lane_of(const FleetPlan& plan, std::size_t task) {
  return static_cast<std::size_t>(plan.plan.tasks[task].board);
}

const std::string& board_of(const FleetPlan& plan, std::size_t lane) {
  return plan.facts.boards[plan.of.lanes[lane].board].name;
}

bool is_closed(const FleetPlan& plan, std::size_t lane) {
  return !plan.of.instance.boards[lane].closed.empty();
}

// In the order in which they are told: by lane, then by start.
std::vector<std::size_t> by_place(const FleetPlan& plan) {
  std::vector<std::size_t> out;
  for (const placement::Order& order : placement::orders_of(plan.of.instance, plan.plan.tasks)) {
    for (const int t : order) out.push_back(static_cast<std::size_t>(t));
  }
  return out;
}

std::string later(Seconds s) {
  if (s == 0) return "at the same time";
  return s > 0 ? span(s) + " later" : span(-s) + " sooner";
}

bool explains_all(const FleetPlan& plan) {
  const auto tasks = static_cast<double>(plan.of.tasks.size());
  const double timed = tasks + static_cast<double>(plan.of.lanes.size());
  return tasks * timed * timed <= kExplainedWorkMax;
}

std::string how_known(const FleetPlan& plan, std::size_t task) {
  std::string out(placement::name(plan.of.known_by[task]));
  if (plan.of.known_by[task] == placement::TimeBasis::kForecast &&
      board_of(plan, lane_of(plan, task)) == fact_of(plan, task).board) {
    return out;
  }
  return out + "; speed " +
         std::string(placement::name(plan.of.speed_basis(task, lane_of(plan, task))));
}

// Whether it is meant to be on another board than the one that has it.
bool moves(const FleetPlan& plan, std::size_t task) {
  const std::string& now = fact_of(plan, task).board;
  return !now.empty() && now != board_of(plan, lane_of(plan, task));
}

std::string elsewhere(const FleetPlan& plan, std::size_t task) {
  const placement::TaskFact& fact = fact_of(plan, task);
  std::string out = moves(plan, task) ? "now on " + fact.board + "; " : "";
  if (fact.stage != placement::Stage::kWaiting) return out + "stays: it has begun";
  if (fact.bound) return out + "stays with its board";
  if (!explains_all(plan)) return out + "ask with --why";
  const auto second = runner_up(plan, task);
  return out + (second ? words(*second) : "no other place");
}

std::string tasks_table(const FleetPlan& plan) {
  Table table({{""},
               {"TASK"},
               {"WHERE"},
               {"FROM", true},
               {"UNTIL", true},
               {"DEADLINE", true},
               {"MET"},
               {"TIME KNOWN BY"},
               {"OR ELSE"}});
  const placement::Instance& instance = plan.of.instance;
  for (const std::size_t t : by_place(plan)) {
    const Seconds start = plan.plan.tasks[t].start_s;
    table.add({std::string(1, letter_of(t)), harmless(instance.tasks[t].name),
               harmless(instance.boards[lane_of(plan, t)].name), start == 0 ? "now" : span(start),
               span(placement::finish_of(instance, plan.plan, t)),
               span(instance.tasks[t].deadline_s),
               placement::in_time(instance, plan.plan, t) ? "yes" : "no", how_known(plan, t),
               harmless(elsewhere(plan, t))});
  }
  return table.text();
}

RunnerUp compared(const FleetPlan& plan, std::size_t task, const placement::Alternative& other) {
  const placement::Objective& now = plan.plan.objective;
  return RunnerUp{plan.of.instance.boards[other.board].name,
                  other.finish_s - placement::finish_of(plan.of.instance, plan.plan, task),
                  other.objective.makespan_s - now.makespan_s,
                  other.objective.missed_weight - now.missed_weight,
                  other.objective.energy_j - now.energy_j};
}

// The places that are possible, from the third best on; `told` has the best ones first.
std::string more_places(const FleetPlan& plan, const placement::Explanation& told) {
  std::string out;
  std::size_t count = 0;
  for (std::size_t i = 1; i < told.others.size() && told.others[i].why_not.empty(); ++i) {
    if (++count > kPlacesToldMax) continue;
    out += "Or " + harmless(words(compared(plan, told.task, told.others[i]))) + ".\n";
  }
  if (count > kPlacesToldMax) {
    out += "And " + std::to_string(count - kPlacesToldMax) + " places that are no better.\n";
  }
  return out;
}

}  // namespace

std::optional<RunnerUp> runner_up(const FleetPlan& plan, std::size_t task) {
  const placement::Explanation told = placement::explain(plan.of.instance, plan.plan, task);
  if (told.others.empty() || !told.others.front().why_not.empty()) return std::nullopt;
  return compared(plan, task, told.others.front());
}

std::string words(const RunnerUp& of) {
  std::string out = of.place + ": " + later(of.task_later_s);
  if (of.all_later_s != 0) out += ", all done " + later(of.all_later_s);
  if (of.missed_weight_more != 0) {
    out += of.missed_weight_more > 0 ? ", more deadlines missed" : ", fewer deadlines missed";
  }
  if (of.energy_more_j != 0) {
    out += (of.energy_more_j > 0 ? ", +" : ", ") + std::to_string(of.energy_more_j) + " J";
  }
  return out;
}

Deadlines deadlines_of(const FleetPlan& plan) {
  Deadlines out;
  out.all = plan.of.tasks.size();
  for (std::size_t t = 0; t < out.all; ++t) {
    if (placement::in_time(plan.of.instance, plan.plan, t)) ++out.met;
  }
  return out;
}

std::string headline(const FleetPlan& plan) {
  const placement::Objective& best = plan.plan.objective;
  const auto open = std::count_if(plan.facts.boards.begin(), plan.facts.boards.end(),
                                  [](const placement::BoardFact& b) {
                                    return !b.removed && b.standing != placement::Standing::kAway;
                                  });
  std::string out = harmless(plan.facts.fleet) + ": " + std::to_string(plan.of.tasks.size()) +
                    " tasks on " + std::to_string(open) + " boards";
  for (const std::string& change : plan.changes) out += ", " + harmless(change);
  if (plan.of.tasks.empty()) return out + ": nothing to plan\n";
  const Deadlines met = deadlines_of(plan);
  out += "\nall done in " + span(best.makespan_s);
  out += best.makespan_s == plan.plan.bound_s
             ? ", and no plan ends sooner"
             : ", and no plan ends sooner than " + span(plan.plan.bound_s);
  out += "; deadlines met: " + std::to_string(met.met) + " of " + std::to_string(met.all) + "; " +
         std::to_string(best.energy_j) + " J above idle";
  if (plan.stopped) out += " (stopped; a longer search may find better)";
  return out + "\n";
}

std::string gantt(const FleetPlan& plan, std::size_t columns) {
  const placement::Instance& instance = plan.of.instance;
  std::size_t names = 0;
  for (const placement::PlannedBoard& board : instance.boards) {
    names = std::max(names, width_of(board.name));
  }
  const std::size_t bar =
      columns > names + 2 + kBarMin ? columns - names - 2 : std::size_t{kBarMin};
  const Seconds end = std::max<Seconds>(plan.plan.objective.makespan_s, 1);
  const auto at = [&](Seconds s) {
    return std::min<std::size_t>(static_cast<std::size_t>(s) * bar / static_cast<std::size_t>(end),
                                 bar);
  };
  std::vector<std::string> rows(instance.boards.size(), std::string(bar, '.'));
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    if (is_closed(plan, lane)) rows[lane] = std::string(bar, ' ').replace(0, 12, "takes no one");
  }
  for (const std::size_t t : by_place(plan)) {
    // What is too short for a column has one all the same, of the next.
    std::string& row = rows[lane_of(plan, t)];
    std::size_t from = std::min(at(plan.plan.tasks[t].start_s), bar - 1);
    while (from + 1 < bar && row[from] != '.') ++from;
    const std::size_t to = std::max(at(placement::finish_of(instance, plan.plan, t)), from + 1);
    for (std::size_t i = from; i < to; ++i) row[i] = letter_of(t);
  }
  const std::string until = span(end);
  std::string out = std::string(names + 2, ' ') + "now" +
                    std::string(bar > until.size() + 3 ? bar - until.size() - 3 : 1, ' ') + until +
                    "\n";
  for (std::size_t lane = 0; lane < rows.size(); ++lane) {
    const std::string& name = instance.boards[lane].name;
    out += harmless(name) + std::string(names + 2 - width_of(name), ' ') + rows[lane] + "\n";
  }
  return out;
}

std::vector<std::string> assumptions() {
  return {
      "each task has its lane to itself, at full speed; limits of power or lane time are not "
      "foreseen",
      "tasks on two lanes of one board are not checked against its memory together",
      "what has begun stays on its board; no task moves by itself, so for waiting tasks this "
      "is advice"};
}

std::string plan_text(const FleetPlan& plan, std::size_t columns) {
  std::string out = headline(plan);
  if (!plan.of.tasks.empty()) out += "\n" + gantt(plan, columns) + "\n" + tasks_table(plan);
  for (const auto& left : plan.of.left_out) {
    out += "not planned: " + harmless(left.task) + ": " + harmless(left.why) + "\n";
  }
  if (plan.of.tasks.empty()) return out;
  for (const std::string& line : assumptions()) out += "assumed: " + line + "\n";
  return out;
}

Result<std::string> why_there(const FleetPlan& plan, const std::string& task) {
  for (const auto& left : plan.of.left_out) {
    if (left.task != task) continue;
    return harmless(task) + " is not planned: " + harmless(left.why) + "\n";
  }
  for (std::size_t t = 0; t < plan.of.tasks.size(); ++t) {
    if (plan.of.instance.tasks[t].name != task) continue;
    const placement::Explanation told = placement::explain(plan.of.instance, plan.plan, t);
    return placement::explanation_text(plan.of.instance, plan.plan, told) +
           more_places(plan, told) + "Its time is known by " + how_known(plan, t) + ".\n";
  }
  return fail(Code::kNotFound, "the plan has no task '" + task + "'");
}

Value plan_answer_json(const FleetPlan& plan) {
  const placement::Instance& instance = plan.of.instance;
  const Value document = placement::instance_json(instance);
  const Deadlines met = deadlines_of(plan);
  Value tasks = Value::array();
  for (const std::size_t t : by_place(plan)) {
    const std::size_t lane = lane_of(plan, t);
    Value row =
        Value::object()
            .set("task", instance.tasks[t].name)
            .set("node", board_of(plan, lane))
            .set("lane", plan.of.lanes[lane].lane)
            .set("start_s", plan.plan.tasks[t].start_s)
            .set("end_s", placement::finish_of(instance, plan.plan, t))
            .set("deadline_s", instance.tasks[t].deadline_s)
            .set("in_time", placement::in_time(instance, plan.plan, t))
            .set("now_on", fact_of(plan, t).board.empty() ? Value() : Value(fact_of(plan, t).board))
            .set("moves", moves(plan, t))
            .set("time_by", placement::name(plan.of.known_by[t]))
            .set("speed_by", placement::name(plan.of.speed_basis(t, lane)));
    const auto second = explains_all(plan) ? runner_up(plan, t) : std::nullopt;
    row.set("runner_up", !second ? Value()
                                 : Value::object()
                                       .set("place", second->place)
                                       .set("task_later_s", second->task_later_s)
                                       .set("all_later_s", second->all_later_s)
                                       .set("missed_weight_more", second->missed_weight_more)
                                       .set("energy_more_j", second->energy_more_j));
    tasks.add(std::move(row));
  }
  Value left = Value::array();
  for (const auto& one : plan.of.left_out) {
    left.add(Value::object().set("task", one.task).set("why", one.why));
  }
  Value changes = Value::array();
  for (const std::string& change : plan.changes) changes.add(change);
  Value assumed = Value::array();
  for (const std::string& line : assumptions()) assumed.add(line);
  return Value::object()
      .set("fleet", plan.facts.fleet)
      .set("changes", std::move(changes))
      .set("makespan_s", plan.plan.objective.makespan_s)
      .set("bound_s", plan.plan.bound_s)
      .set("deadlines", met.all)
      .set("deadlines_met", met.met)
      .set("energy_j", plan.plan.objective.energy_j)
      .set("tasks", std::move(tasks))
      .set("left_out", std::move(left))
      .set("assumed", std::move(assumed))
      .set("instance", document)
      .set("plan", placement::plan_json(instance, placement::hash_of(document), plan.plan));
}

}  // namespace laird::control
