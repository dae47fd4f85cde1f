#include "agent/placement/planner/plan_json.hpp"

#include <map>

#include "agent/placement/planner/document.hpp"
#include "agent/placement/planner/timetable.hpp"

namespace laird::placement {
namespace {

using json::Kind;
using json::Value;

constexpr std::string_view kPlanFormat = "laird.plan/1";

// The tasks of the document by number, with their boards and starts.
struct Listed {
  std::size_t task = 0;
  std::size_t board = 0;
  Seconds start_s = -1;
};

Result<std::vector<Listed>> read_listed(const Value& tasks, const Instance& instance) {
  std::map<std::string_view, std::size_t> task_of;
  std::map<std::string_view, std::size_t> board_of;
  for (std::size_t t = 0; t < instance.tasks.size(); ++t) task_of[instance.tasks[t].name] = t;
  for (std::size_t b = 0; b < instance.boards.size(); ++b) board_of[instance.boards[b].name] = b;
  std::vector<bool> seen(instance.tasks.size());
  std::vector<Listed> out;
  std::size_t with_start = 0;
  for (const Value& v : tasks.items()) {
    const Value* task = v.find("task", Kind::kString);
    const Value* board = v.find("board", Kind::kString);
    if (task == nullptr || board == nullptr)
      return wrong(v, "a planned task needs \"task\" and \"board\"");
    const auto t = task_of.find(task->as_string());
    const auto b = board_of.find(board->as_string());
    if (t == task_of.end()) return wrong(v, "the instance has no task '" + task->as_string() + "'");
    if (b == board_of.end())
      return wrong(v, "the instance has no board '" + board->as_string() + "'");
    if (seen[t->second]) return wrong(v, "task '" + task->as_string() + "' is planned twice");
    seen[t->second] = true;
    Listed one{t->second, b->second};
    if (const Value* start = v.find("start_s")) {
      if (!start->is(Kind::kInteger) || start->as_integer() < 0 ||
          start->as_integer() >= kForever) {
        return wrong(*start, "task '" + task->as_string() +
                                 "': start_s must be a whole number, not negative");
      }
      one.start_s = start->as_integer();
      ++with_start;
    }
    out.push_back(one);
  }
  if (with_start != 0 && with_start != out.size()) {
    return wrong(tasks, "start_s must be given for all tasks or for none");
  }
  for (std::size_t t = 0; t < seen.size(); ++t) {
    if (!seen[t]) return wrong(tasks, "task '" + instance.tasks[t].name + "' is not in the plan");
  }
  return out;
}

// Starts for a plan that gives none.
Status give_starts(const Instance& instance, std::vector<Listed>& listed) {
  for (std::size_t b = 0; b < instance.boards.size(); ++b) {
    Timetable timetable(instance);
    timetable.begin(b);
    for (Listed& l : listed) {
      if (l.board != b || instance.tasks[l.task].running < 0) continue;
      l.start_s = 0;
      timetable.take(l.task, 0);
    }
    Seconds before = 0;
    for (Listed& l : listed) {
      if (l.board != b || instance.tasks[l.task].running >= 0) continue;
      l.start_s = instance.may_run(l.task, b) ? timetable.earliest(l.task, before) : kForever;
      if (l.start_s >= kForever) {
        const std::string why = why_not(instance, l.task, b);
        return fail(Code::kInvalid, "task '" + instance.tasks[l.task].name + "' cannot start on " +
                                        instance.boards[b].name + (why.empty() ? "" : ": " + why));
      }
      timetable.take(l.task, l.start_s);
      before = l.start_s;
    }
  }
  return {};
}

}  // namespace

Result<Plan> read_plan(const Value& document, const ReadInstance& of) {
  const Instance& instance = of.instance;
  if (!document.is(Kind::kObject)) return wrong(document, "a plan is an object");
  const Value* format = document.find("format", Kind::kString);
  if (format == nullptr || format->as_string() != kPlanFormat) {
    return wrong(document, "\"format\" must be \"" + std::string(kPlanFormat) + "\"");
  }
  if (const Value* hash = document.find("instance");
      hash == nullptr || !hash->is(Kind::kString) || hash->as_string() != of.hash) {
    return wrong(document, "the plan is of another instance; this one is " + of.hash);
  }
  if (const Value* mode = document.find("mode");
      mode != nullptr && (!mode->is(Kind::kString) || mode->as_string() != name(instance.mode))) {
    return wrong(*mode, "the plan is of another mode; the instance's is " +
                            std::string(name(instance.mode)));
  }
  const Value* tasks = document.find("tasks", Kind::kArray);
  if (tasks == nullptr) return wrong(document, "\"tasks\" must be a list");
  Result<std::vector<Listed>> listed = read_listed(*tasks, instance);
  LAIRD_TRY(listed);
  if (!listed->empty() && listed->front().start_s < 0) LAIRD_TRY(give_starts(instance, *listed));
  Plan out;
  out.tasks.resize(instance.tasks.size());
  for (const Listed& l : *listed) out.tasks[l.task] = {static_cast<int>(l.board), l.start_s};
  out.objective = judge(instance, out.tasks);
  LAIRD_TRY(read_integer(document, "makespan_s", "the plan", kForever, &out.objective.makespan_s));
  LAIRD_TRY(read_integer(document, "bound_s", "the plan", kForever, &out.bound_s));
  if (const Value* s = document.find("solver", Kind::kString)) out.solver = s->as_string();
  return out;
}

Value plan_json(const Instance& instance, const std::string& hash, const Plan& plan) {
  Value out = Value::object();
  out.set("format", kPlanFormat).set("instance", hash).set("mode", name(instance.mode));
  out.set("makespan_s", plan.objective.makespan_s).set("bound_s", plan.bound_s);
  out.set("solver", plan.solver);
  Value tasks = Value::array();
  for (const Order& order : orders_of(instance, plan.tasks)) {
    for (const int t : order) {
      const Placed& p = plan.tasks[static_cast<std::size_t>(t)];
      tasks.add(Value::object()
                    .set("task", instance.tasks[static_cast<std::size_t>(t)].name)
                    .set("board", instance.boards[static_cast<std::size_t>(p.board)].name)
                    .set("start_s", p.start_s));
    }
  }
  out.set("tasks", std::move(tasks));
  return out;
}

}  // namespace laird::placement
