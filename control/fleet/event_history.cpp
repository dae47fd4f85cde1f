#include "control/fleet/event_history.hpp"

#include <algorithm>
#include <limits>

namespace laird::control {
namespace {

using json::Kind;
using json::Value;

// More than a board keeps. It bounds the memory of lairctl, whatever a board sends.
constexpr std::size_t kEventsPerBoardMax = 4'096;
// Allows for boards' clocks that differ and for the time until a lost link is noticed.
constexpr std::int64_t kClockDoubtMs = 60'000;
constexpr std::int64_t kAskAgainMs = 5'000;

std::string time_of(const Value& event) {
  const Value* ts = event.find("ts", Kind::kString);
  return ts == nullptr ? std::string() : ts->as_string();
}

}  // namespace

std::optional<EventHistory::Place> EventHistory::place_of(const Value& event) {
  const Value* epoch = event.find("epoch", Kind::kInteger);
  const Value* seq = event.find("seq", Kind::kInteger);
  if (epoch == nullptr || seq == nullptr) return std::nullopt;
  return Place{epoch->as_integer(), seq->as_integer()};
}

std::optional<Value> EventHistory::take(const std::string& board, const Value& data) {
  const Value* list = data.find("events", Kind::kArray);
  const Value* more = data.find("more", Kind::kBool);
  if (list == nullptr) return std::nullopt;
  auto& known = events_[board];
  bool news = false;
  for (const Value& event : list->items()) {
    const auto place = place_of(event);
    if (!place || known.size() >= kEventsPerBoardMax) continue;
    news = known.emplace(*place, event).second || news;
  }
  // Without this a board that repeats its answer would be asked for ever.
  if (more == nullptr || !more->as_bool() || !news) return std::nullopt;
  const Place oldest = known.begin()->first;
  return Value::object().set("epoch", oldest.first).set("seq", oldest.second);
}

std::vector<EventView> EventHistory::in_order() const {
  struct Timed {
    std::string time;
    EventView event;
  };
  std::vector<Timed> all;
  for (const auto& [board, events] : events_) {
    std::string latest;
    for (const auto& [place, event] : events) {
      latest = std::max(latest, time_of(event));
      all.push_back({latest, {board, event}});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Timed& a, const Timed& b) { return a.time < b.time; });
  std::vector<EventView> out;
  out.reserve(all.size());
  for (Timed& one : all) out.push_back(std::move(one.event));
  return out;
}

bool EventHistory::is_new(const EventView& event) {
  const auto place = place_of(event.event);
  if (!place) return true;
  auto& known = events_[event.board];
  if (!known.emplace(*place, event.event).second) return false;
  if (known.size() > kEventsPerBoardMax) known.erase(known.begin());
  return true;
}

void EventGaps::closed(const std::string& board, std::int64_t now_ms) {
  boards_[board] = {std::max(began_ms_, now_ms - kClockDoubtMs), false, 0};
}

void EventGaps::link_lost() {
  for (auto& [board, heard] : boards_) {
    heard.gap = true;
    heard.ask_at_ms = 0;
  }
}

std::set<std::string> EventGaps::to_ask(const std::set<std::string>& live, std::int64_t now_ms) {
  for (auto& [board, heard] : boards_) {
    if (live.count(board) != 0) continue;
    heard.gap = true;
    heard.ask_at_ms = 0;
  }
  std::set<std::string> out;
  for (const std::string& board : live) {
    const auto [at, is_new] = boards_.try_emplace(board, Heard{began_ms_, true, 0});
    Heard& heard = at->second;
    if (!heard.gap) {
      heard.whole_until_ms = std::max(began_ms_, now_ms - kClockDoubtMs);
    } else if (now_ms >= heard.ask_at_ms) {
      heard.ask_at_ms = now_ms + kAskAgainMs;
      out.insert(board);
    }
  }
  return out;
}

std::int64_t EventGaps::since_ms(const std::set<std::string>& boards) const {
  std::int64_t out = std::numeric_limits<std::int64_t>::max();
  for (const std::string& board : boards) {
    const auto found = boards_.find(board);
    out = std::min(out, found == boards_.end() ? began_ms_ : found->second.whole_until_ms);
  }
  return out;
}

}  // namespace laird::control
