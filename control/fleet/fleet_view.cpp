#include "control/fleet/fleet_view.hpp"

#include <algorithm>
#include <array>

#include "mqtt/codec/base64.hpp"
#include "mqtt/codec/envelope.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::control {
namespace {

using json::Kind;
using json::Value;
using mqtt::TopicKind;

constexpr std::array<std::string_view, 6> kEnds = {"succeeded", "missed",    "exhausted",
                                                   "failed",    "cancelled", "moved"};

}  // namespace

const Value* at_path(const Value& value, std::string_view path) {
  const Value* at = &value;
  while (at != nullptr && !path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    at = at->find(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return at;
}

std::optional<double> number_at(const Value& value, std::string_view path) {
  const Value* at = at_path(value, path);
  if (at == nullptr || !at->is_number()) return std::nullopt;
  return at->as_double();
}

bool is_end(std::string_view state) {
  return std::find(kEnds.begin(), kEnds.end(), state) != kEnds.end();
}

std::optional<double> BoardView::number(std::string_view path) const {
  const auto out = number_at(report, path);
  return out && *out < 0.0 ? std::nullopt : out;
}

bool BoardView::flag(std::string_view path) const {
  const Value* at = at_path(report, path);
  return at != nullptr && at->is(Kind::kBool) && at->as_bool();
}

std::string TaskView::text(const char* key) const {
  const Value* value = task.find(key, Kind::kString);
  return value == nullptr ? std::string() : value->as_string();
}

std::optional<double> TaskView::number(std::string_view path) const {
  return number_at(task, path);
}

bool TaskView::is_ended() const { return is_end(text("state")); }

void FleetView::take(const mqtt::Topic& topic, std::string_view payload) {
  switch (topic.kind) {
    case TopicKind::kStatus:
    case TopicKind::kInfo:
    case TopicKind::kReport: take_state(topic, payload); return;
    case TopicKind::kTask: take_task(topic, payload); return;
    case TopicKind::kTelemetry: take_telemetry(topic, payload); return;
    case TopicKind::kEvent: {
      auto event = mqtt::parse_message(payload, "laird.event");
      if (!event) return;
      ++changes_;
      if (events_.size() >= kEventsKept) events_.pop_front();
      events_.push_back({topic.node, std::move(*event)});
      return;
    }
    case TopicKind::kFleetConfig: {
      ++changes_;
      const auto envelope = mqtt::parse_envelope(payload);
      if (!envelope) return;
      const auto command = mqtt::parse_signed_text(envelope->signed_text);
      if (!command) return;
      const auto rev = number_at(command->body, "rev");
      budget_ = BudgetView{command->body, envelope->op, envelope->signed_text, envelope->signature,
                           rev ? static_cast<std::int64_t>(*rev) : 0};
      return;
    }
    default: return;
  }
}

void FleetView::note_board(const std::string& board) {
  ++changes_;
  if (noting_) changed_.boards.insert(board);
}

void FleetView::note_task(const TaskPlace& place) {
  ++changes_;
  if (noting_) changed_.tasks.insert(place);
}

void FleetView::take_task(const mqtt::Topic& topic, std::string_view payload) {
  const TaskPlace place{topic.node, topic.name};
  if (payload.empty()) {
    if (tasks_.erase(place) != 0) note_task(place);
    return;
  }
  auto task = mqtt::parse_message(payload, "laird.task");
  if (!task || (tasks_.size() >= limits_.tasks_max && tasks_.count(place) == 0)) return;
  tasks_[place] = {topic.node, std::move(*task), generation_};
  note_task(place);
}

// Only of boards that are known by their states: what is told in passing makes no board.
void FleetView::take_telemetry(const mqtt::Topic& topic, std::string_view payload) {
  const auto board = boards_.find(topic.node);
  if (topic.name != "power" || board == boards_.end()) return;
  auto power = mqtt::parse_message(payload, "laird.tele");
  if (!power) return;
  board->second.power = std::move(*power);
  note_board(topic.node);
}

void FleetView::drop_unseen() {
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    if (at->second.generation == generation_) {
      ++at;
      continue;
    }
    note_task(at->first);
    at = tasks_.erase(at);
  }
  for (auto at = boards_.begin(); at != boards_.end();) {
    if (at->second.generation == generation_) {
      ++at;
      continue;
    }
    note_board(at->first);
    at = boards_.erase(at);
  }
}

void FleetView::take_state(const mqtt::Topic& topic, std::string_view payload) {
  if (boards_.find(topic.node) == boards_.end() && boards_.size() >= limits_.boards_max) return;
  const char* schema = topic.kind == TopicKind::kStatus ? "laird.status"
                       : topic.kind == TopicKind::kInfo ? "laird.info"
                                                        : "laird.report";
  // An empty message means that the retained one was cleared, as `purge` does.
  auto value = payload.empty() ? Result<Value>(Value()) : mqtt::parse_message(payload, schema);
  if (!value) return;
  note_board(topic.node);
  BoardView& board = boards_[topic.node];
  board.generation = generation_;
  if (topic.kind == TopicKind::kInfo) {
    board.info = std::move(*value);
  } else if (topic.kind == TopicKind::kReport) {
    board.report = std::move(*value);
  } else {
    const auto status = mqtt::parse_status(payload);
    if (!status) {
      board.state = "unknown";
      return;
    }
    // A last will counts only for the start of the agent that left it, not for a later one.
    const auto epoch = static_cast<std::int64_t>(status->epoch);
    if (epoch < board.epoch) return;
    board.epoch = epoch;
    board.state = std::string(mqtt::name(status->state));
    const Value* ts = value->find("ts", Kind::kString);
    board.since = ts == nullptr ? std::string() : ts->as_string();
  }
  const bool nothing = board.info.is(Kind::kNull) && board.report.is(Kind::kNull);
  if (payload.empty() && nothing && board.state == "unknown") boards_.erase(topic.node);
}

FleetSums sums_of(const FleetView& view) {
  FleetSums out;
  bool first = true;
  for (const auto& [id, board] : view.boards()) {
    ++out.boards;
    const auto floor = board.number("shares/power/floor_w");
    if (!board.is_live()) {
      out.enforced_w += floor.value_or(0.0);
      continue;
    }
    ++out.live;
    if (board.report.is(Kind::kNull)) continue;
    if (board.flag("fenced")) ++out.fenced;
    if (const auto drawn = board.number("power_w")) {
      out.power_w = out.power_w.value_or(0.0) + *drawn;
    }
    out.demand_w += board.number("shares/power/demand_w").value_or(0.0);
    const auto enforced = board.number("shares/power/enforced_w");
    if (enforced) out.enforced_w += *enforced;
    if (!enforced) ++out.unlimited;
    const auto rev = static_cast<std::int64_t>(board.number("config_rev").value_or(0.0));
    out.rev_lowest = first ? rev : std::min(out.rev_lowest, rev);
    // The newest revision says what the budget is.
    if (first || rev >= out.rev_highest) out.budget_w = board.number("shares/power/budget_w");
    out.rev_highest = std::max(out.rev_highest, rev);
    first = false;
  }
  return out;
}

std::vector<TaskView> FleetView::tasks_of(const std::string& board) const {
  std::vector<TaskView> out;
  for (const auto& [key, task] : tasks_) {
    if (board.empty() || key.first == board) out.push_back(task);
  }
  return out;
}

}  // namespace laird::control
