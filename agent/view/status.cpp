#include "agent/view/status.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "agent/core/step/step.hpp"
#include "agent/core/step/time_sheet.hpp"
#include "agent/placement/measured_works.hpp"
#include "base/duration.hpp"

namespace laird::agent {
namespace {

void add_forecast(const core::Task& task, TaskRow& row) {
  if (task.rate <= 0.0 || row.deadline_in <= 0) return;
  const double more = task.rate * row.share * seconds(row.deadline_in);
  const double at = static_cast<double>(task.samples) + more;
  const double planned = static_cast<double>(task.planned_samples);
  const auto forecast = task.forecast.loss_at(at, planned);
  if (!forecast) return;
  row.forecast_known = true;
  row.forecast_loss = forecast->loss;
  row.forecast_low = forecast->low;
  row.forecast_high = forecast->high;
}

}  // namespace

std::vector<const core::Task*> tasks_in_order(const core::State& state) {
  std::vector<const core::Task*> out;
  out.reserve(state.live.size() + state.ended.size());
  for (const core::Task& task : state.live) out.push_back(&task);
  for (const core::Task& task : state.ended) {
    if (!task.removed) out.push_back(&task);
  }
  std::sort(out.begin(), out.end(),
            [](const core::Task* a, const core::Task* b) { return a->key < b->key; });
  return out;
}

std::string_view shown_state(const core::State& state, const core::Task& task) {
  if (task.outcome != core::Outcome::kNone) return name(task.outcome);
  return core::throttled_now(state, task) ? "throttled" : name(task.state);
}

namespace {

void add_title(const core::State& state, const core::Task& task, TaskRow& row) {
  row.movable = task.spec.movable;
  row.moving_to = task.moving.to;
  row.moved = task.moving.note;
  const auto& titles = std::as_const(state.fleet.titles);
  const consensus::HeldTitle* title =
      task.moving.titled() && titles ? titles->titles().holds(task.moving.title) : nullptr;
  if (title == nullptr) return;
  row.title = consensus::name(title->state);
  row.title_number = title->number;
  const std::string* backup =
      title->backup.valid() ? core::name_of(state.fleet.budget, title->backup.node) : nullptr;
  if (backup != nullptr) row.backup = *backup;
  row.backed = title->backed;
}

}  // namespace

TaskRow task_row(const core::State& state, const core::Task& task, TimeNs now) {
  TaskRow row;
  row.name = task.spec.name;
  row.lane = name(task.spec.lane);
  row.ended = task.state == core::TaskState::kEnded;
  row.succeeded = task.outcome == core::Outcome::kSucceeded;
  row.state = shown_state(state, task);
  if (const auto held = core::throttled_now(state, task)) {
    row.throttled_by = core::name(held->by);
    const bool is_time = held->by == core::Throttler::kFleetTime;
    row.throttled_limit = static_cast<double>(held->limit) * (is_time ? 1e-6 : 1e-3);
  }
  row.throttled_ns = task.time_sheet.of(core::TimeUse::kThrottled);
  row.samples = task.samples;
  row.planned_samples = task.planned_samples;
  row.loss_known = task.loss_known;
  row.loss = task.loss;
  row.target_loss = task.spec.target_loss;
  row.weight = task.spec.weight();
  row.busy_ns = task.busy_ns;
  if (task.lane >= 0) row.busy_ns += std::max<DurationNs>(0, now - task.grant_at);
  const TimeNs until = row.ended ? task.ended_at : now;
  row.took_ns = std::max<DurationNs>(1, until - task.accepted_at);
  row.deadline_in = task.deadline_at - until;
  row.share = static_cast<double>(row.busy_ns) / static_cast<double>(row.took_ns);
  row.switches = task.switches;
  row.energy_uj = task.energy_uj;
  const power::TaskEnergy* used = row.ended ? nullptr : state.meter.task(task.key);
  if (used != nullptr && state.meter.totals().readings > 0) {
    row.energy_uj = used->dynamic.uj() + used->idle.uj();
  }
  row.need = placement::need_of(task, task.rate, now);
  if (!row.ended) add_forecast(task, row);
  row.reason = task.reason;
  row.trainer = task.spec.trainer;
  row.work = placement::work_of(task.spec);
  row.memory_bytes = task.spec.memory_bytes;
  row.rate = task.rate;
  row.fleet = task.spec.cotrain;
  row.promotes = task.spec.promotes;
  row.run_of = task.spec.run_of;
  row.sweep = task.spec.sweep;
  row.best_loss = task.best_loss;
  row.promotion = task.promotion;
  add_title(state, task, row);
  if (task.spec.promote.wanted) row.promotion_task = core::promotion_name(task.spec.name);
  return row;
}

std::vector<TaskRow> task_rows(const core::State& state, TimeNs now) {
  const std::vector<const core::Task*> tasks = tasks_in_order(state);
  std::vector<TaskRow> rows;
  rows.reserve(tasks.size());
  for (const core::Task* task : tasks) rows.push_back(task_row(state, *task, now));
  return rows;
}

namespace {

json::Value need_json(const placement::Need& need) {
  using json::Value;
  // Rounded: the digits behind say nothing, and every task is published again and again.
  const auto range = [](const placement::NeedRange& of, double steps) {
    const auto rounded = [steps](double value) {
      return Value::number(std::round(value * steps) / steps);
    };
    return Value::object()
        .set("low", rounded(of.low))
        .set("median", rounded(of.median))
        .set("high", rounded(of.high));
  };
  return Value::object()
      .set("probability", need.probability)
      .set("reach", need.reach)
      .set("samples", range(need.samples, 1.0))
      .set("seconds", range(need.seconds, 1000.0));
}

}  // namespace

namespace {

json::Value promotion_json(const core::Promotion& promotion) {
  using json::Value;
  const auto number = [](double value) { return value > 0.0 ? Value::number(value) : Value(); };
  return Value::object()
      .set("choice", promotion.choice)
      .set("agreement", number(promotion.agreement))
      .set("latency_us_p50", number(promotion.latency_us_p50))
      .set("latency_us_p95", number(promotion.latency_us_p95))
      .set("latency_us_p99", number(promotion.latency_us_p99))
      .set("rows_per_s", number(promotion.rows_per_s))
      .set("bytes", static_cast<std::int64_t>(promotion.bytes))
      .set("note", promotion.note);
}

}  // namespace

namespace {

void add_group(const trainer_protocol::GroupStatus& group, json::Value& fleet) {
  using json::Value;
  const auto part = [](const std::optional<double>& v) { return v ? Value::number(*v) : Value(); };
  Value members = Value::array();
  for (const auto& board : group.boards) {
    members.add(Value::object()
                    .set("node", board.node)
                    .set("rows", static_cast<std::int64_t>(board.rows))
                    .set("accuracy", part(board.accuracy)));
  }
  Value waits = Value::array();
  for (const std::string& node : group.waits_for) waits.add(Value(node));
  fleet.set("round", static_cast<std::int64_t>(group.round))
      .set("rounds", static_cast<std::int64_t>(group.rounds))
      .set("note", group.note)
      .set("accuracy", part(group.accuracy))
      .set("members", std::move(members))
      .set("waits_for", std::move(waits));
  if (group.epsilon) fleet.set("epsilon", *group.epsilon).set("delta", group.delta);
}

}  // namespace

json::Value task_json(const TaskRow& row) {
  using json::Value;
  Value out = Value::object();
  out.set("name", row.name);
  out.set("lane", row.lane);
  out.set("trainer", row.trainer);
  out.set("work", row.work);
  out.set("memory_bytes", row.memory_bytes);
  out.set("rate", row.rate > 0.0 ? Value::number(row.rate) : Value());
  out.set("state", row.state);
  if (!row.throttled_by.empty()) {
    const bool is_time = row.throttled_by == core::name(core::Throttler::kFleetTime);
    out.set("throttled", Value::object()
                             .set("by", row.throttled_by)
                             .set(is_time ? "limit_ratio" : "limit_w", row.throttled_limit));
  }
  out.set("samples", row.samples);
  out.set("planned_samples", row.planned_samples);
  out.set("loss", row.loss_known ? Value::number(row.loss) : Value());
  out.set("target_loss", row.target_loss);
  out.set("weight", row.weight);
  if (row.forecast_known) {
    out.set("forecast", Value::object()
                            .set("loss", row.forecast_loss)
                            .set("low", row.forecast_low)
                            .set("high", row.forecast_high)
                            .set("probability", row.need.probability));
  }
  if (!row.ended && row.need.basis == placement::NeedBasis::kForecast) {
    out.set("need", need_json(row.need));
  }
  out.set("energy_j",
          row.energy_uj < 0 ? Value() : Value::number(static_cast<double>(row.energy_uj) * 1e-6));
  out.set("deadline_in_s", seconds(row.deadline_in));
  out.set("busy_s", seconds(row.busy_ns));
  out.set("share", row.share);
  out.set("switches", row.switches);
  out.set("reason", row.reason);
  if (row.movable) out.set("movable", true);
  if (!row.title.empty()) {
    Value title = Value::object().set("state", row.title).set("number", row.title_number);
    title.set("backup", row.backup.empty() ? Value() : Value(row.backup)).set("backed", row.backed);
    out.set("title", std::move(title));
  }
  if (!row.moving_to.empty()) out.set("moving_to", row.moving_to);
  if (!row.moved.empty()) out.set("moved", row.moved);
  if (!row.promotes.empty()) out.set("promotes", row.promotes);
  if (!row.run_of.empty()) out.set("run_of", row.run_of);
  if (!row.sweep.empty()) {
    out.set("sweep", row.sweep);
    out.set("best_loss", row.loss_known ? Value::number(row.best_loss) : Value());
  }
  if (!row.promotion_task.empty()) out.set("promotion_task", row.promotion_task);
  if (row.promotion.known()) out.set("promotion", promotion_json(row.promotion));
  if (row.fleet) {
    const auto boards = static_cast<std::int64_t>(row.fleet_boards);
    Value fleet = Value::object().set("boards", boards > 0 ? Value::integer(boards) : Value());
    if (!row.group.boards.empty()) add_group(row.group, fleet);
    out.set("fleet", std::move(fleet));
  }
  return out;
}

json::Value recurring_json(const core::State& state, const core::Recurring& r, TimeNs now) {
  using json::Value;
  // In milliseconds, as times are told elsewhere.
  const auto unix_ms = [](TimeNs wall) { return Value::integer(wall / kMillisecond); };
  const bool has_next = r.state == core::RecurringState::kScheduled && !r.waiting &&
                        r.back_since == 0 && r.due_wall != kNever;
  const double next_in_s = has_next ? seconds(r.due_wall - state.wall_minus_agent - now) : 0.0;
  const core::Task* run = state.find_any(r.run);
  Value recurs = Value::object()
                     .set("every", core::text_of(r.spec.every.window))
                     .set("warm_start", r.spec.every.warm_start)
                     .set("next_ms", has_next ? unix_ms(r.due_wall) : Value())
                     .set("next", has_next ? core::local_text(state.zone, r.due_wall) : "")
                     .set("next_in_s", has_next ? Value::number(next_in_s) : Value())
                     .set("runs", r.runs)
                     .set("last_run", run == nullptr ? "" : run->spec.name)
                     .set("missed", r.missed);
  if (r.missed > 0) {
    recurs.set("last_missed", Value::object()
                                  .set("begin_ms", unix_ms(r.missed_wall))
                                  .set("begin", core::local_text(state.zone, r.missed_wall))
                                  .set("why", r.missed_why));
  }
  return Value::object()
      .set("name", r.spec.name)
      .set("lane", core::name(r.spec.lane))
      .set("state", core::name(r.state))
      .set("samples", std::int64_t{0})
      .set("planned_samples", r.spec.planned_samples)
      .set("loss", Value())
      .set("target_loss", r.spec.target_loss)
      .set("weight", r.spec.weight())
      .set("energy_j", Value())
      // Of the next run, at the latest; a schedule whose next run is not known has none.
      .set("deadline_in_s",
           has_next ? Value::number(next_in_s + seconds(r.spec.every.window.length())) : Value())
      .set("busy_s", 0.0)
      .set("share", 0.0)
      .set("switches", std::int64_t{0})
      .set("reason", core::explain(state, r))
      .set("recurs", std::move(recurs));
}

namespace {

// The harshest rung in use: everything gentler is at its floor by then.
const char* rung_in_use(const power::Governor& governor) {
  for (std::size_t i = power::kRungCount; i-- > 0;) {
    const auto rung = static_cast<power::Rung>(i);
    if (governor.level(rung) < power::kLevelFull) return power::name(rung).data();
  }
  return "none";
}

std::string watts(std::int64_t mw) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f W", static_cast<double>(mw) * 1e-3);
  return text;
}

// Older than this, a reading says nothing about now.
constexpr DurationNs kReadingAgeMax = 10 * kSecond;

bool is_fresh(const core::State& state, TimeNs now) {
  return state.power.mean_mw && now - state.power.mean_at <= kReadingAgeMax;
}

}  // namespace

json::Value power_json(const core::State& state, TimeNs now) {
  using json::Value;
  const core::PowerState& p = state.power;
  const power::Governor& governor = p.governor;
  const auto milliwatts = [](const std::optional<std::int64_t>& mw) {
    return mw ? Value::integer(*mw) : Value();
  };
  const core::CapInForce cap = p.in_force(state.config.power);
  const bool ends = p.operator_cap_mw && p.operator_cap_until != kNever;
  Value levels = Value::object();
  for (std::size_t i = 0; i < power::kRungCount; ++i) {
    const auto rung = static_cast<power::Rung>(i);
    if (!state.config.power.governor.rungs[i].available) continue;
    levels.set(std::string(power::name(rung)), governor.level(rung));
  }
  Value lanes = Value::array();
  for (const core::Lane& lane : state.lanes) {
    lanes.add(Value::object()
                  .set("name", lane.config.name)
                  .set("kind", name(lane.config.kind))
                  .set("ceiling", lane.gate.ceiling_ppm * 1e-6)
                  .set("running", !lane.running.empty()));
  }
  const power::MeterTotals& totals = state.meter.totals();
  return Value::object()
      .set("source", power::name(state.meter_source))
      .set("power_mw", is_fresh(state, now) ? milliwatts(p.mean_mw) : Value())
      .set("hottest_c",
           p.hottest_mc ? Value::number(static_cast<double>(*p.hottest_mc) * 1e-3) : Value())
      .set("energy_j", totals.board.joules())
      .set("metered_s", seconds(totals.metered_ns))
      .set("cap_mw", milliwatts(cap.mw))
      .set("cap_source", name(cap.source))
      .set("caps", Value::object()
                       .set("config_mw", milliwatts(state.config.power.cap_mw))
                       .set("operator_mw", milliwatts(p.operator_cap_mw))
                       .set("operator_left_s",
                            ends ? Value::number(seconds(p.operator_cap_until - now)) : Value())
                       .set("fleet_mw", milliwatts(p.fleet_cap_mw)))
      .set("rung", rung_in_use(governor))
      .set("levels_permille", std::move(levels))
      .set("lanes", std::move(lanes))
      .set("moves", governor.moves())
      .set("roundings", governor.roundings())
      .set("hot", governor.hot())
      .set("blind", governor.blind())
      .set("exhausted", governor.exhausted())
      .set("text", power_line(state, now));
}

std::string power_line(const core::State& state, TimeNs now) {
  const core::PowerState& p = state.power;
  std::string out = "power " + (is_fresh(state, now) ? watts(*p.mean_mw) : "unknown");
  if (state.meter_source == power::Source::kModelled) out += " (modelled)";
  const core::CapInForce cap = p.in_force(state.config.power);
  if (!cap.mw) return out + ", no cap";
  out += ", cap " + watts(*cap.mw) + " by " + std::string(name(cap.source));
  if (cap.source == core::CapSource::kOperator && p.operator_cap_until != kNever) {
    out += " for " + spoken(p.operator_cap_until - now);
  }
  if (p.governor.throttling()) {
    out += std::string(", ") + rung_in_use(p.governor);
    std::uint32_t lowest = core::kShareWholePpm;
    for (const core::Lane& lane : state.lanes) lowest = std::min(lowest, lane.gate.ceiling_ppm);
    char ceiling[48];
    std::snprintf(ceiling, sizeof ceiling, ", ceiling %.1f%%", lowest * 1e-4);
    out += ceiling;
  }
  if (p.governor.blind()) out += ", no readings";
  if (p.governor.exhausted()) out += ", cannot be held: nothing is left to throttle";
  return out;
}

}  // namespace laird::agent
