#include "agent/view/metrics.hpp"

#include <algorithm>

#include "agent/core/step/time_sheet.hpp"
#include "agent/view/shares.hpp"
#include "agent/view/status.hpp"
#include "power/report/openmetrics.hpp"

namespace laird::agent {
namespace {

using core::Outcome;
using core::Resource;
using power::OpenMetrics;

std::string label(std::string_view key, std::string_view value) {
  return OpenMetrics::label(key, value);
}

void one(OpenMetrics& text, std::string_view name, std::string_view type, std::string_view unit,
         std::string_view help, double v) {
  text.family(name, type, unit, help);
  text.sample("", v);
}

double count(std::uint64_t n) { return static_cast<double>(n); }

void add_cap(OpenMetrics& text, const MetricsInput& in) {
  const core::State& state = *in.state;
  const core::CapInForce cap = state.power.in_force(state.config.power);
  if (cap.mw) {
    text.family("laird_power_cap_watts", "gauge", "watts", "The cap in force, and whose it is.");
    text.sample(label("source", core::name(cap.source)), static_cast<double>(*cap.mw) * 1e-3);
  }
  one(text, "laird_power_cap_exceeded_seconds", "counter", "seconds",
      "Time the governor's mean was above the cap since the agent started.",
      static_cast<double>(in.over_cap_ns) * 1e-9);
  if (state.power.mean_mw) {
    one(text, "laird_meter_stale_seconds", "gauge", "seconds",
        "Age of the last reading the governor used.",
        static_cast<double>(std::max<DurationNs>(0, in.now - state.power.mean_at)) * 1e-9);
  }
}

// One row for each task that is not over, the oldest first.
std::vector<TaskRow> labelled_rows(const MetricsInput& in) {
  std::vector<TaskRow> rows = task_rows(*in.state, in.now);
  std::erase_if(rows, [](const TaskRow& row) { return row.ended; });
  if (rows.size() > kTasksLabelledMax) rows.resize(kTasksLabelledMax);
  return rows;
}

void add_tasks(OpenMetrics& text, const MetricsInput& in) {
  const std::vector<TaskRow> rows = labelled_rows(in);
  const auto each = [&](std::string_view name, std::string_view unit, std::string_view help,
                        const auto& wanted, const auto& value) {
    text.family(name, "gauge", unit, help);
    for (const TaskRow& row : rows) {
      if (wanted(row)) text.sample(label("task", row.name), value(row));
    }
  };
  const auto always = [](const TaskRow&) { return true; };
  text.family("laird_task_share_ratio", "gauge", "ratio",
              "Part of its lane's time since it was accepted.");
  for (const TaskRow& row : rows) {
    text.sample(label("task", row.name) + "," + label("resource", row.lane), row.share);
  }
  each(
      "laird_task_loss", "", "The last loss reported.",
      [](const TaskRow& row) { return row.loss_known; },
      [](const TaskRow& row) { return row.loss; });
  each("laird_task_loss_target", "", "The loss it is to reach.", always,
       [](const TaskRow& row) { return row.target_loss; });
  const auto forecast = [](const TaskRow& row) { return row.forecast_known; };
  text.family("laird_task_loss_forecast", "gauge", "", "Loss at the deadline, by quantile.");
  for (const TaskRow& row : rows) {
    if (!forecast(row)) continue;
    const std::string task = label("task", row.name);
    text.sample(task + ",quantile=\"0.05\"", row.forecast_low);
    text.sample(task + ",quantile=\"0.5\"", row.forecast_loss);
    text.sample(task + ",quantile=\"0.95\"", row.forecast_high);
  }
  each("laird_task_success_probability_ratio", "ratio",
       "Of reaching the target in time, with the whole lane until then.", forecast,
       [](const TaskRow& row) { return row.need.probability; });
  text.family("laird_task_throttled_seconds", "counter", "seconds",
              "How long a limit on power or lane time held it back since it was accepted.");
  for (const TaskRow& row : rows) {
    text.sample(label("task", row.name), static_cast<double>(row.throttled_ns) * 1e-9);
  }
  text.family("laird_task_need_seconds", "gauge", "seconds",
              "Of its whole lane until the target, if it is reached, by quantile.");
  for (const TaskRow& row : rows) {
    if (row.need.basis != placement::NeedBasis::kForecast) continue;
    const std::string task = label("task", row.name);
    text.sample(task + ",quantile=\"0.1\"", row.need.seconds.low);
    text.sample(task + ",quantile=\"0.5\"", row.need.seconds.median);
    text.sample(task + ",quantile=\"0.9\"", row.need.seconds.high);
  }
  const double wall_s =
      static_cast<double>(in.now + in.state->wall_minus_agent) / static_cast<double>(kSecond);
  each("laird_task_deadline_timestamp_seconds", "seconds", "When it is due, Unix time.", always,
       [wall_s](const TaskRow& row) {
         return wall_s + static_cast<double>(row.deadline_in) / static_cast<double>(kSecond);
       });
}

// How far co-training tasks are, who takes part, and what their models are worth.
void add_groups(OpenMetrics& text, const MetricsInput& in) {
  if (in.groups.empty()) return;
  const auto each = [&](std::string_view name, std::string_view unit, std::string_view help,
                        const auto& value) {
    text.family(name, "gauge", unit, help);
    for (const auto& [task, group] : in.groups) {
      const std::optional<double> v = value(group);
      if (v) text.sample(label("task", task), *v);
    }
  };
  using Group = trainer_protocol::GroupStatus;
  using Number = std::optional<double>;
  each("laird_cotrain_round", "", "Rounds that the group of a co-training task has made.",
       [](const Group& g) -> Number { return g.round; });
  each("laird_cotrain_boards", "", "Boards that take part.",
       [](const Group& g) -> Number { return static_cast<double>(g.boards.size()); });
  each("laird_cotrain_waited_for", "", "Boards that the round under way waits for.",
       [](const Group& g) -> Number { return static_cast<double>(g.waits_for.size()); });
  each("laird_cotrain_accuracy_ratio", "ratio",
       "Part of the rows held out on all boards that the model gets right.",
       [](const Group& g) { return g.accuracy; });
  each("laird_cotrain_epsilon", "",
       "What the board has told of its rows, of a task that tells it with noise.",
       [](const Group& g) { return g.epsilon; });
  const auto boards = [&](std::string_view name, std::string_view unit, std::string_view help,
                          const auto& value) {
    text.family(name, "gauge", unit, help);
    for (std::size_t k = 0; k < std::min(in.groups.size(), kGroupsLabelledMax); ++k) {
      const auto& [task, group] = in.groups[k];
      for (const Group::Board& board : group.boards) {
        const Number v = value(board);
        if (v) text.sample(label("task", task) + "," + label("board", board.node), *v);
      }
    }
  };
  boards("laird_cotrain_board_rows", "", "Rows by which a board that takes part counts.",
         [](const Group::Board& b) -> Number { return static_cast<double>(b.rows); });
  boards("laird_cotrain_board_accuracy_ratio", "ratio",
         "Part of its rows held out that the model gets right.",
         [](const Group::Board& b) { return b.accuracy; });
}

void add_counts(OpenMetrics& text, const MetricsInput& in) {
  const core::State& state = *in.state;
  std::uint64_t running = 0;
  std::uint64_t throttled = 0;
  for (const core::Task& task : state.live) {
    const bool held = core::throttled_now(state, task).has_value();
    throttled += held ? 1 : 0;
    running += !held && task.state == core::TaskState::kRunning ? 1 : 0;
  }
  text.family("laird_tasks", "gauge", "", "Tasks that are not over.");
  text.sample(label("state", "running"), count(running));
  text.sample(label("state", "throttled"), count(throttled));
  text.sample(label("state", "waiting"), count(state.live.size() - running - throttled));
  text.family("laird_tasks_ended", "counter", "", "Tasks that ended since the agent started.");
  for (const Outcome outcome : {Outcome::kSucceeded, Outcome::kMissed, Outcome::kExhausted,
                                Outcome::kFailed, Outcome::kCancelled, Outcome::kMoved}) {
    text.sample(label("outcome", core::name(outcome)), count(in.ended[outcome]));
  }
  one(text, "laird_task_deadline_miss", "counter", "", "Deadlines missed since the agent started.",
      count(in.ended[Outcome::kMissed]));
  one(text, "laird_decisions", "counter", "", "Decisions of the policy.",
      count(state.counters.decisions));
  one(text, "laird_switches", "counter", "", "Times a task took a lane over from another.",
      count(state.counters.switches));
  one(text, "laird_trainer_crashes", "counter", "", "Trainers that ended unasked.",
      count(state.counters.crashes));
}

// Whether the boards' agreement on their shares works, as far as this board can see.
void add_agreement(OpenMetrics& text, const MetricsInput& in) {
  const core::Fleet& fleet = in.state->fleet;
  if (!fleet.ledger) return;
  const consensus::Ledger& ledger = *fleet.ledger;
  one(text, "laird_coop_rounds", "counter", "", "Rounds of the share ledger.",
      count(ledger.ticks()));
  std::uint64_t heard = 0;
  std::uint64_t silent = 0;
  for (const consensus::Edge& edge : ledger.edges()) {
    if (edge.closing || edge.peer_dead) continue;
    const bool is_heard =
        edge.seq_heard != 0 && in.now - edge.heard_at <= kHeardRounds * ledger.config().tick;
    (is_heard ? heard : silent) += 1;
  }
  text.family("laird_coop_neighbours", "gauge", "", "Boards it exchanges shares with.");
  text.sample(label("state", "heard"), count(heard));
  text.sample(label("state", "silent"), count(silent));
  const bool fenced = fleet.on_floor(in.now);
  const TimeNs fence = std::min(ledger.fence_deadline(), in.now + core::kLeaseMax);
  one(text, "laird_fleet_fenced_in_seconds", "gauge", "seconds",
      "Until it falls to its floor, if its peers stay silent.",
      fenced ? 0.0 : static_cast<double>(fence - in.now) * 1e-9);
  // Outside or cut off it quotes no price that anybody would answer.
  if (fenced || !ledger.entered()) return;
  text.family("laird_coop_disagreement_ratio", "gauge", "ratio",
              "Part of the divided budget that would have to move to or from one neighbour.");
  for (const Resource resource : {Resource::kCpu, Resource::kGpu, Resource::kPower}) {
    if (fleet.budget.total[resource] == core::kUnlimited) continue;
    const std::optional<consensus::Parts> parts =
        ledger.disagreement(static_cast<std::size_t>(resource));
    if (!parts) continue;
    text.sample(label("resource", core::name(resource)),
                static_cast<double>(*parts) / static_cast<double>(consensus::kWhole));
  }
}

void add_fleet(OpenMetrics& text, const MetricsInput& in) {
  const core::Fleet& fleet = in.state->fleet;
  if (!fleet.member()) return;
  one(text, "laird_fleet_fenced", "gauge", "", "1: cut off from its peers, on its floor.",
      fleet.fenced(in.now) ? 1.0 : 0.0);
  one(text, "laird_fleet_plan_revision", "gauge", "", "Revision of the budget in force.",
      count(fleet.budget.rev));
  one(text, "laird_fleet_members", "gauge", "", "Boards of the budget, itself included.",
      count(fleet.budget.members.size()));
  const std::int64_t share_mw = core::enforced_at(*in.state, in.now)[Resource::kPower];
  if (share_mw != core::kUnlimited) {
    one(text, "laird_fleet_share_watts", "gauge", "watts", "This board's floor and share.",
        static_cast<double>(share_mw) * 1e-3);
  }
  const auto watts_of = [&](const std::optional<std::int64_t>& mw, std::string_view name,
                            std::string_view help) {
    if (mw) one(text, name, "gauge", "watts", help, static_cast<double>(*mw) * 1e-3);
  };
  watts_of(demanded(*in.state, Resource::kPower, in.now), "laird_fleet_demand_watts",
           "What this board asks for: its floor and what its tasks need.");
  watts_of(drawn_mw(*in.state), "laird_fleet_drawn_watts",
           "What this board draws of its share, the mean.");
  const std::int64_t budget =
      fleet.budget.budget_at(Resource::kPower, in.now + in.state->wall_minus_agent);
  if (budget != core::kUnlimited) {
    one(text, "laird_fleet_budget_watts", "gauge", "watts", "Of the whole fleet.",
        static_cast<double>(budget) * 1e-3);
  }
  text.family("laird_commands", "counter", "", "Signed commands over the network.");
  text.sample(label("result", "done"), count(fleet.counters.commands));
  text.sample(label("result", "refused"), count(fleet.counters.commands_refused));
  text.sample(label("result", "repeated"), count(fleet.counters.commands_repeated));
  text.family("laird_coop_messages", "counter", "", "Ledger messages of peers.");
  text.sample(label("result", "taken"), count(fleet.counters.peer_messages));
  text.sample(label("result", "refused"), count(fleet.counters.peer_messages_refused));
  if (!fleet.ledger) return;
  text.family("laird_ledger_refusals", "counter", "",
              "What peers said and the ledger did not believe.");
  const consensus::Refusals refusals = fleet.ledger->refusals();
  for (std::size_t k = 0; k < consensus::kRefusals; ++k) {
    const auto reason = static_cast<consensus::Refusal>(k);
    text.sample(label("reason", std::string(consensus::name(reason))), count(refusals.of(reason)));
  }
}

void add_peers(OpenMetrics& text, const MetricsInput& in) {
  text.family("laird_coop_packets", "counter", "", "Packets of peers, by what became of them.");
  for (const auto& [result, n] : in.coop) text.sample(label("result", result), count(n));
  text.family("laird_coop_refused", "counter", "", "What was refused of single peers, by reason.");
  for (const MetricsInput::Refused& refused : in.coop_refused) {
    text.sample(label("peer", refused.peer) + "," + label("reason", refused.reason),
                count(refused.count));
  }
}

void add_link(OpenMetrics& text, const MetricsInput& in) {
  if (!in.has_link) return;
  add_peers(text, in);
  one(text, "laird_mqtt_connected", "gauge", "", "1: the link to the broker is up.",
      in.connected ? 1.0 : 0.0);
  one(text, "laird_mqtt_connects", "counter", "", "Times the link came up.",
      count(in.link.connects));
  text.family("laird_mqtt_messages", "counter", "", "Messages over the link.");
  text.sample(label("direction", "sent"), count(in.link.sent));
  text.sample(label("direction", "received"), count(in.link.received));
  text.family("laird_mqtt_dropped", "counter", "", "Messages given up, by what they were for.");
  constexpr std::string_view kNames[mqtt::kClasses] = {"peer", "telemetry", "state", "event",
                                                       "reply"};
  for (std::size_t i = 0; i < mqtt::kClasses; ++i) {
    text.sample(label("class", kNames[i]), count(in.link.dropped[i]));
  }
  text.sample(label("class", "incoming"), count(in.link.inbox_dropped + in.link.oversized));
}

}  // namespace

std::string metrics_text(const MetricsInput& in) {
  OpenMetrics text;
  text.family("laird_build", "info", "", "The agent.");
  text.info(label("version", in.version));
  std::size_t named = 0;
  power::add_power(text, *in.board, in.state->meter, in.reading, [&](power::TaskKey key) {
    const core::Task* task = in.state->find_any(static_cast<core::TaskKey>(key));
    return task == nullptr || ++named > kTasksLabelledMax ? std::string() : task->spec.name;
  });
  add_cap(text, in);
  add_tasks(text, in);
  add_groups(text, in);
  add_counts(text, in);
  add_fleet(text, in);
  add_agreement(text, in);
  add_link(text, in);
  one(text, "process_resident_memory_bytes", "gauge", "bytes", "Memory of the agent.",
      static_cast<double>(in.resident_bytes));
  one(text, "process_cpu_seconds", "counter", "seconds", "Processor time of the agent.", in.cpu_s);
  one(text, "process_start_time_seconds", "gauge", "seconds", "When it started, Unix time.",
      in.started_unix_s);
  return std::move(text).finish();
}

}  // namespace laird::agent
