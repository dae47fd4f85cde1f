// The link's outward side: what the board tells of itself.
#include "agent/fleet/link.hpp"
#include "agent/fleet/report.hpp"
#include "agent/view/status.hpp"

namespace laird::agent {
namespace {

using json::Value;
using mqtt::TopicKind;

constexpr DurationNs kReportEvery = 5 * kSecond;
constexpr DurationNs kTaskEvery = 2 * kSecond;
constexpr DurationNs kRecurringEvery = 10 * kSecond;
constexpr std::size_t kTasksPerSecond = 32;
constexpr DurationNs kTaskKeptAfterEnd = 10 * kMinute;

}  // namespace

// Every change of the last half minute again: one lost message leaves no hole.
void FleetLink::publish_shares() {
  const TimeNs now = agent_.now();
  if (!shares_.fresh() && now - shares_at_ < kReportEvery) return;
  shares_at_ = now;
  const std::deque<ShareHistory::Point>& told = shares_.take(clock_.wall_ns());
  if (told.empty()) return;
  Value points = Value::array();
  for (const ShareHistory::Point& p : told) {
    points.add(Value::array().add(p.unix_us).add(p.parts).add(p.enforced_mw));
  }
  mqtt::Outgoing out;
  out.topic = topic(TopicKind::kTelemetry, "shares");
  out.payload = json::to_text(Value::object()
                                  .set("s", "laird.tele/1.0")
                                  .set("epoch", epoch_)
                                  .set("seq", ++seq_)
                                  .set("ts", mqtt::time_text(wall_ms()))
                                  .set("points", std::move(points)));
  out.kind = mqtt::Class::kTelemetry;
  client_->publish(std::move(out));
}

void FleetLink::publish_word(const std::string& tasks) {
  publish_state(TopicKind::kCotrain, {},
                "{\"s\":\"laird.cotrain/1.0\",\"epoch\":" + std::to_string(epoch_) + ",\"ts\":\"" +
                    mqtt::time_text(wall_ms()) + "\",\"tasks\":" + tasks + "}");
}

void FleetLink::publish_all() {
  timer_ = loop_.after(publish_every_, [this] { publish_all(); });
  commands_->look_again();
  if (!joined_) return;
  publish_status();
  if (info_due_) publish_info();
  publish_report();
  refresh_groups();
  publish_tasks();
  publish_telemetry();
  publish_shares();
}

void FleetLink::publish_state(TopicKind kind, std::string_view name, std::string payload) {
  mqtt::Outgoing out;
  out.topic = topic(kind, name);
  out.payload = std::move(payload);
  out.kind = mqtt::Class::kState;
  out.retained = true;
  out.qos = 1;
  client_->publish(std::move(out));
}

void FleetLink::publish_status() {
  mqtt::NodeState state = mqtt::NodeState::kReady;
  if (agent_.state().draining) state = mqtt::NodeState::kDraining;
  if (agent_.state().drained()) state = mqtt::NodeState::kDrained;
  if (agent_.journal_blocked()) state = mqtt::NodeState::kAlert;
  const std::string word(mqtt::name(state));
  if (word == last_status_) return;
  last_status_ = word;
  publish_state(TopicKind::kStatus, {}, mqtt::to_text(mqtt::NodeStatus{state, epoch_, wall_ms()}));
}

void FleetLink::publish_info() {
  info_due_ = false;
  mqtt::NodeInfo info = info_of(agent_.state(), model_, version_);
  if (revocations_) info.crl_number = revocations_->list().number();
  publish_state(TopicKind::kInfo, {}, mqtt::to_text(info, facts_of(agent_.state(), about_)));
}

void FleetLink::publish_report() {
  const TimeNs now = agent_.now();
  mqtt::NodeReport report = report_of(agent_.state(), now);
  // Changes of these few are worth a message at once; the rest waits for its turn.
  const std::string brief = brief_of(report);
  if (brief == last_report_ && now - report_at_ < kReportEvery) return;
  last_report_ = brief;
  report_at_ = now;
  const mqtt::Counters link = client_->counters();
  report.epoch = epoch_;
  report.seq = ++seq_;
  report.unix_ms = wall_ms();
  report.link_dropped = link.dropped_total();
  report.link_connects = link.connects;
  const Footprint used = footprint_();
  report.agent_rss_kb = used.resident_kb;
  report.agent_cpu_ms = used.cpu_ms;
  publish_state(TopicKind::kReport, {}, mqtt::to_text(report));
}

const trainer_protocol::GroupStatus* FleetLink::group(const std::string& task) const {
  return groups_->group(task);
}

void FleetLink::publish_task(const std::string& name, Value text) {
  text.set("s", "laird.task/1.0");
  text.set("epoch", epoch_);
  text.set("seq", ++seq_);
  text.set("ts", mqtt::time_text(wall_ms()));
  publish_state(TopicKind::kTask, name, json::to_text(text));
}

void FleetLink::publish_tasks() {
  const TimeNs now = agent_.now();
  std::size_t sent = 0;
  for (const core::Task* task : tasks_in_order(agent_.state())) {
    PublishedTask& last = tasks_[task->spec.name];
    last.known = true;
    const bool changed = last.state != shown_state(agent_.state(), *task);
    const bool ended = task->state == core::TaskState::kEnded;
    if (!changed && (ended || now - last.at < kTaskEvery)) continue;
    if (!changed && sent >= kTasksPerSecond) continue;
    TaskRow row = task_row(agent_.state(), *task, now);
    row.fleet_boards = groups_->boards(row.name);
    if (const auto* group = groups_->group(row.name)) row.group = *group;
    ++sent;
    last.state = row.state;
    last.at = now;
    last.clear_at = row.ended ? now + kTaskKeptAfterEnd : kNever;
    publish_task(row.name, task_json(row));
  }
  for (const core::Recurring& recurring : agent_.state().recurring) {
    PublishedTask& last = tasks_[recurring.spec.name];
    last.known = true;
    const std::string state(core::name(recurring.state));
    const bool changed = last.state != state;
    if (!changed && now - last.at < kRecurringEvery) continue;
    last.state = state;
    last.at = now;
    last.clear_at = kNever;
    Value text = recurring_json(agent_.state(), recurring, now);
    publish_task(recurring.spec.name, std::move(text));
  }
  for (auto task = tasks_.begin(); task != tasks_.end();) {
    const bool kept = std::exchange(task->second.known, false);
    if (now < task->second.clear_at && kept) {
      ++task;
      continue;
    }
    if (!task->second.state.empty()) publish_state(TopicKind::kTask, task->first, "");
    if (kept) {
      // Stays known as cleared, so that it is not published again.
      task->second.clear_at = kNever;
      ++task;
    } else {
      task = tasks_.erase(task);
    }
  }
}

void FleetLink::publish_telemetry() {
  if (!client_->connected()) return;
  mqtt::Outgoing out;
  out.topic = topic(TopicKind::kTelemetry, "power");
  out.payload =
      json::to_text(power_telemetry(agent_.state(), agent_.now(), epoch_, wall_ms(),
                                    energy_.mean_w(agent_.state()), agent_.last_reading()));
  out.kind = mqtt::Class::kTelemetry;
  out.expiry_s = 10;
  client_->publish(std::move(out));
}

void FleetLink::publish_event(std::string kind, std::string text, Value more) {
  mqtt::NodeEvent event;
  event.epoch = epoch_;
  event.seq = ++seq_;
  event.unix_ms = wall_ms();
  event.kind = std::move(kind);
  event.text = std::move(text);
  event.more = std::move(more);
  event.historical = !client_->connected();
  events_.add(event);
  mqtt::Outgoing out;
  out.topic = topic(TopicKind::kEvent, event.kind);
  out.payload = mqtt::to_text(event);
  out.kind = mqtt::Class::kEvent;
  out.qos = 1;
  client_->publish(std::move(out));
}

void FleetLink::task_changed(const core::Task& task, const core::TaskChanged& change) {
  groups_->touch();
  if (change.state == core::TaskState::kEnded) info_due_ = true;
  if (change.state != core::TaskState::kQueued && change.outcome == core::Outcome::kNone) return;
  if (change.outcome != core::Outcome::kNone && change.state != core::TaskState::kEnded) return;
  const bool missed = change.outcome == core::Outcome::kMissed;
  const std::string state(change.outcome == core::Outcome::kNone ? core::name(change.state)
                                                                 : core::name(change.outcome));
  const bool ended = change.outcome != core::Outcome::kNone;
  // An earlier run of the agent may have published it, and it is another board's to tell of now.
  if (change.outcome == core::Outcome::kMoved) {
    publish_state(TopicKind::kTask, task.spec.name, "");
    tasks_.erase(task.spec.name);
  }
  const bool told = ended || task.spec.cotrain;
  const std::string why = told && !task.reason.empty() ? " (" + task.reason + ")" : std::string();
  Value more = Value::object().set("task", task.spec.name).set("state", state);
  if (ended) {
    more.set("reason", task.reason)
        .set("loss", task.loss_known ? Value::number(task.loss) : Value())
        .set("target_loss", task.spec.target_loss)
        .set("samples", task.samples)
        .set("energy_j", task.energy_uj < 0
                             ? Value()
                             : Value::number(static_cast<double>(task.energy_uj) * 1e-6));
  }
  publish_event(missed ? "deadline-miss" : "task", task.spec.name + ": " + state + why,
                std::move(more));
}

}  // namespace laird::agent
