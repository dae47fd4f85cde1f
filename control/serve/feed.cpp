#include "control/serve/feed.hpp"

#include <algorithm>

#include "control/screen/rows.hpp"
#include "control/serve/page_rows.hpp"

namespace laird::control::serve {
namespace {

using json::Value;

constexpr DurationNs kFleetEvery = kSecond;
constexpr DurationNs kChooseEvery = 2 * kSecond;

int rank_of(const TaskView& task) {
  if (is_at_risk(task)) return 0;
  const std::string state = task.text("state");
  if (state == "running" || state == "throttled") return 1;
  if (!is_end(state)) return 2;
  return state == "succeeded" || state == "cancelled" || state == "moved" ? 4 : 3;
}

std::int64_t ms(TimeNs time) { return time / kMillisecond; }

}  // namespace

std::string server_sent_event(std::string_view name, std::string_view text) {
  std::string out = "event: ";
  out.append(name).append("\ndata: ").append(text).append("\n\n");
  return out;
}

Feed::Places Feed::choose(const FleetView& view) {
  Places out;
  if (view.tasks().size() <= kTasksShown) {
    for (const auto& [place, task] : view.tasks()) out.insert(out.end(), place);
    return out;
  }
  std::vector<std::pair<int, const TaskPlace*>> ranked;
  ranked.reserve(view.tasks().size());
  for (const auto& [place, task] : view.tasks()) ranked.emplace_back(rank_of(task), &place);
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < kTasksShown; ++i) out.insert(*ranked[i].second);
  return out;
}

void Feed::add_event(const EventView& event) {
  Value row = event_row(event);
  events_.push_back(row);
  if (events_.size() > kEventsShown) events_.pop_front();
  if (new_events_.size() < kEventsShown) new_events_.push_back(std::move(row));
}

void Feed::take(FleetView& view, const Link& link, TimeNs now) {
  const FleetView::Changed changed = view.take_changed();
  for (const std::string& id : changed.boards) {
    const auto found = view.boards().find(id);
    if (found == view.boards().end()) {
      history_.forget_board(id);
      heard_.erase(id);
    } else {
      heard_[id] = ms(now);
      history_.take_board(id, found->second, now);
      history_.take_running(id, found->second, now);
    }
    changed_.boards.insert(id);
  }
  for (const TaskPlace& place : changed.tasks) {
    const auto found = view.tasks().find(place);
    if (found == view.tasks().end()) {
      history_.forget_task(place);
    } else {
      history_.take_task(place, found->second, now);
    }
    changed_.tasks.insert(place);
  }
  for (const EventView& event : view.events()) add_event(event);
  view.events().clear();

  const bool few = view.tasks().size() <= kTasksShown;
  if (!changed.tasks.empty() && (few || now - chosen_at_ >= kChooseEvery)) {
    chosen_at_ = now;
    Places next = choose(view);
    for (const TaskPlace& place : shown_) {
      if (next.count(place) == 0) gone_.push_back(key_of(place));
    }
    for (const TaskPlace& place : next) {
      if (shown_.count(place) == 0) changed_.tasks.insert(place);
    }
    shown_ = std::move(next);
  }
  if (now - fleet_at_ >= kFleetEvery || link.connected != summary_connected_) {
    fleet_at_ = now;
    summary_connected_ = link.connected;
    if (link.connected) history_.take_fleet(view, now);
    summary_ = summary_of(view, link, heard_, ms(now));
    summary_.set("tasks_hidden",
                 view.tasks().size() - std::min(view.tasks().size(), shown_.size()));
  }
}

Value Feed::head(TimeNs now) const {
  return Value::object().set("now_ms", ms(now)).set("summary", summary_);
}

std::string Feed::whole(const FleetView& view, TimeNs now) const {
  Value out = head(now);
  out.set("fleet", options_.fleet)
      .set("operator", options_.operator_name)
      .set("control", options_.control)
      .set("started_ms", ms(started_));
  Value boards = Value::array();
  for (const auto& [id, board] : view.boards()) {
    const auto heard = heard_.find(id);
    Value row = board_row(id, board, heard == heard_.end() ? ms(started_) : heard->second);
    boards.add(row.set("past", history_.board_sketch(id)));
  }
  Value tasks = Value::array();
  for (const TaskPlace& place : shown_) {
    const auto found = view.tasks().find(place);
    if (found == view.tasks().end()) continue;
    Value row = task_row(found->second);
    tasks.add(row.set("past", history_.task_sketch(place)));
  }
  Value events = Value::array();
  for (const Value& event : events_) events.add(event);
  out.set("boards", std::move(boards))
      .set("tasks", std::move(tasks))
      .set("events", std::move(events))
      .set("past", history_.fleet_json());
  return server_sent_event("whole", json::to_text(out));
}

std::string Feed::changes(const FleetView& view, TimeNs now) {
  Value out = head(now);
  Value boards = Value::array();
  Value tasks = Value::array();
  Value gone = Value::array();
  Value events = Value::array();
  for (const std::string& id : changed_.boards) {
    const auto found = view.boards().find(id);
    if (found == view.boards().end()) {
      gone.add(id);
    } else {
      boards.add(board_row(id, found->second, heard_.at(id)));
    }
  }
  for (const TaskPlace& place : changed_.tasks) {
    const auto found = view.tasks().find(place);
    if (found != view.tasks().end() && shown_.count(place) != 0) tasks.add(task_row(found->second));
  }
  for (const std::string& key : gone_) gone.add(key);
  for (Value& event : new_events_) events.add(std::move(event));
  if (!boards.items().empty()) out.set("boards", std::move(boards));
  if (!tasks.items().empty()) out.set("tasks", std::move(tasks));
  if (!gone.items().empty()) out.set("gone", std::move(gone));
  if (!events.items().empty()) out.set("events", std::move(events));
  changed_ = {};
  gone_.clear();
  new_events_.clear();
  return server_sent_event("change", json::to_text(out));
}

Value Feed::board(const FleetView& view, const std::string& id) const {
  const auto found = view.boards().find(id);
  if (found == view.boards().end()) return {};
  const auto heard = heard_.find(id);
  Value out = board_row(id, found->second, heard == heard_.end() ? ms(started_) : heard->second);
  return out.set("past", history_.board_json(id));
}

Value Feed::task(const FleetView& view, const TaskPlace& place) const {
  const auto found = view.tasks().find(place);
  if (found == view.tasks().end()) return {};
  Value out = task_row(found->second);
  return out.set("past", history_.task_json(place));
}

}  // namespace laird::control::serve
