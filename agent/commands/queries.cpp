#include "agent/commands/queries.hpp"

#include "agent/commands/ended_page.hpp"
#include "agent/os/log_page.hpp"
#include "agent/placement/bid.hpp"
#include "agent/settings/fleet_budget_json.hpp"
#include "agent/view/status.hpp"
#include "agent/why/why.hpp"
#include "cell/spec.hpp"
#include "mqtt/codec/base64.hpp"

namespace laird::agent {
namespace {

using json::Value;

// What keeps trainers apart, and what a trainer could do here all the same.
Value cell_json(cell::Guards guards) {
  Value held = Value::array();
  for (int i = 0; i < cell::kGuards; ++i) {
    const auto guard = static_cast<cell::Guard>(i);
    if (guards.has(guard)) held.add(Value::string(std::string(name(guard))));
  }
  Value open = Value::array();
  for (int i = 0; i < cell::kAttempts; ++i) {
    const auto attempt = static_cast<cell::Attempt>(i);
    if (!is_refused(attempt, guards)) open.add(Value::string(std::string(name(attempt))));
  }
  return Value::object().set("guards", std::move(held)).set("open", std::move(open));
}

struct Answerer {
  const QuerySources& from;

  Result<QueryAnswer> operator()(const PingQuery&) const { return QueryAnswer{"here", {}}; }

  Result<QueryAnswer> operator()(const TasksQuery&) const {
    Value tasks = Value::array();
    for (const TaskRow& row : task_rows(from.agent->state(), from.agent->now())) {
      tasks.add(task_json(row));
    }
    const core::State& state = from.agent->state();
    for (const core::Recurring& recurring : state.recurring) {
      tasks.add(recurring_json(state, recurring, from.agent->now()));
    }
    return QueryAnswer{"tasks", Value::object().set("tasks", std::move(tasks))};
  }

  Result<QueryAnswer> operator()(const PowerQuery&) const {
    return QueryAnswer{
        "power", Value::object().set("power", power_json(from.agent->state(), from.agent->now()))};
  }

  Result<QueryAnswer> operator()(const StatusQuery&) const {
    const core::State& state = from.agent->state();
    Value out = Value::object()
                    .set("node", state.config.node)
                    .set("policy", state.config.policy)
                    .set("live", state.live.size())
                    .set("journal", from.agent->journal_path())
                    .set("journal_blocked", from.agent->journal_blocked());
    if (const auto guards = from.agent->guards()) out.set("cell", cell_json(*guards));
    return QueryAnswer{"status", std::move(out)};
  }

  Result<QueryAnswer> operator()(const BudgetQuery&) const {
    return QueryAnswer{"plan", fleet_budget_json(from.agent->state().fleet.budget)};
  }

  Result<QueryAnswer> operator()(const SettingsQuery& query) const {
    if (from.config == nullptr) return fail(Code::kUnavailable, "the agent is still starting");
    Result<Value> data = from.config->answer_get(query.key);
    LAIRD_TRY(data);
    return QueryAnswer{"config", std::move(*data)};
  }

  Result<QueryAnswer> operator()(const EventsQuery& query) const {
    if (from.events == nullptr) {
      return fail(Code::kUnavailable,
                  "this board is in no fleet and keeps no events beside its journal; `lairctl "
                  "replay` reads that");
    }
    return QueryAnswer{"events", event_page(from.events->events(), query.since_ms, query.before)};
  }

  Result<QueryAnswer> operator()(const EndedQuery& query) const {
    return QueryAnswer{"ended", ended_page(from.agent->state(), query.since_ms, query.before)};
  }

  Result<QueryAnswer> operator()(const ExplainQuery& query) const {
    Result<std::string> why = core::explain(from.agent->state(), query.task);
    LAIRD_TRY(why);
    return QueryAnswer{*why, Value::object().set("text", *why)};
  }

  Result<QueryAnswer> operator()(const WhyQuery& query) const {
    const Result<why::Finding> found =
        why::find_out(from.agent->state(), query.task, from.agent->now());
    LAIRD_TRY(found);
    return QueryAnswer{found->headline, why::json_of(*found)};
  }

  Result<QueryAnswer> operator()(const LogsQuery& query) const {
    const Error none{Code::kNotFound, "no trainer of a task '" + core::clipped(query.task) +
                                          "' has printed anything here"};
    // A name becomes part of a path.
    if (query.task.find('/') != std::string::npos || query.task.front() == '.') {
      return tl::make_unexpected(none);
    }
    const core::Task* known = from.agent->state().find_named(query.task);
    const std::string log = known == nullptr ? query.task : known->spec.log_name();
    const Result<LogPage> page = read_log_page(from.agent->trainer_log(log), query.from);
    if (!page && page.error().code == Code::kNotFound) return tl::make_unexpected(none);
    LAIRD_TRY(page);
    return QueryAnswer{"logs", Value::object()
                                   .set("from", page->from)
                                   .set("next", page->next)
                                   .set("size", page->size)
                                   .set("bytes64", mqtt::to_base64(page->bytes))};
  }

  Result<QueryAnswer> operator()(const ModelsQuery&) const {
    return QueryAnswer{"models", Value::object().set("models", from.agent->models().list())};
  }

  Result<QueryAnswer> operator()(const RollbackQuery& query) const {
    const Result<std::string> now = from.agent->models().roll_back(query.model, query.from);
    LAIRD_TRY(now);
    return QueryAnswer{"version " + *now + " of '" + query.model + "' is current",
                       Value::object().set("version", *now)};
  }

  Result<QueryAnswer> operator()(const PullQuery& query) const {
    ModelStore& models = from.agent->models();
    // Runs of a recurring task have one folder, and one model.
    const core::Task* known = from.agent->state().find_named(query.name);
    const bool is_run = known != nullptr && !known->spec.run_of.empty();
    const std::string name = is_run ? known->spec.folder() : query.name;
    Result<Value> data = query.file.empty()
                             ? models.files(name)
                             : models.piece(name, query.file, query.version, query.from);
    LAIRD_TRY(data);
    return QueryAnswer{"pull", std::move(*data)};
  }

  Result<QueryAnswer> operator()(const PushQuery& query) const {
    PushedFiles& pushed = from.agent->pushed();
    const PushedFile file{query.model, query.file, query.bytes, query.sha256};
    Result<Value> data =
        query.piece ? pushed.take(file, query.from, *query.piece) : pushed.ask(file);
    LAIRD_TRY(data);
    return QueryAnswer{"push", std::move(*data)};
  }

  Result<QueryAnswer> operator()(const BidQuery& query) const {
    const core::State& state = from.agent->state();
    const placement::Bid bid =
        placement::bid_for(state, query.spec, core::admits(state, query.spec), from.agent->now());
    return QueryAnswer{"bid", placement::bid_json(bid)};
  }
};

}  // namespace

Result<QueryAnswer> answer_query(const Query& query, const QuerySources& sources) {
  return std::visit(Answerer{sources}, query);
}

}  // namespace laird::agent
