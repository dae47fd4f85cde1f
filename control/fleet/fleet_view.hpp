// The fleet as an operator sees it, put together from the boards' retained topics.
//
// Pure: topics and payloads come in, rows go out. Payloads may be malformed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "json/value.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::control {

struct BoardView {
  std::string state = "unknown";  // ready, draining, drained, alert, offline, lost
  std::int64_t epoch = 0;
  std::string since;  // of the state
  json::Value info;
  json::Value report;

  // Whether the board answers commands, as far as the broker knows.
  [[nodiscard]] bool is_live() const {
    return state == "ready" || state == "draining" || state == "drained" || state == "alert";
  }
  // A number of the report by its path ("shares/power/enforced_w"). Nothing when it is not there or
  // is below zero, which means "not limited".
  [[nodiscard]] std::optional<double> number(std::string_view path) const;
  [[nodiscard]] bool flag(std::string_view path) const;
};

struct TaskView {
  std::string board;
  json::Value task;

  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::optional<double> number(std::string_view path) const;
  [[nodiscard]] bool is_ended() const;
};

struct EventView {
  std::string board;
  json::Value event;
};

struct BudgetView {
  json::Value body;
  std::string op;
  std::string signed_text;
  std::string signature;
  std::int64_t rev = 0;
};

// A value by a path of keys with / between them.
[[nodiscard]] const json::Value* at_path(const json::Value& value, std::string_view path);
[[nodiscard]] std::optional<double> number_at(const json::Value& value, std::string_view path);
// Whether a task in that state has ended.
[[nodiscard]] bool is_end(std::string_view state);

class FleetView {
 public:
  static constexpr std::size_t kEventsKept = 1'000;

  void take(const mqtt::Topic& topic, std::string_view payload);

  [[nodiscard]] const std::map<std::string, BoardView>& boards() const { return boards_; }
  // By board, then name.
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, TaskView>& tasks() const {
    return tasks_;
  }
  // The tasks of a board; of all boards when it has no name.
  [[nodiscard]] std::vector<TaskView> tasks_of(const std::string& board) const;
  [[nodiscard]] std::deque<EventView>& events() { return events_; }
  [[nodiscard]] const std::deque<EventView>& events() const { return events_; }
  [[nodiscard]] const std::optional<BudgetView>& budget() const { return budget_; }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  void take_state(const mqtt::Topic& topic, std::string_view payload);

  std::map<std::string, BoardView> boards_;
  std::map<std::pair<std::string, std::string>, TaskView> tasks_;
  std::deque<EventView> events_;
  std::optional<BudgetView> budget_;
  std::uint64_t changes_ = 0;
};

// The sums over a fleet that people ask for first.
struct FleetSums {
  std::size_t boards = 0;
  std::size_t live = 0;
  std::size_t fenced = 0;          // live ones that have their floor only
  double demand_w = 0.0;           // of live boards
  double enforced_w = 0.0;         // live boards as reported, the others at their floor
  std::optional<double> power_w;   // of live boards; nothing: none knows
  std::optional<double> budget_w;  // nothing: not limited
  std::size_t unlimited = 0;       // live boards that hold no power cap
  std::int64_t rev_lowest = 0;     // of live boards
  std::int64_t rev_highest = 0;
  [[nodiscard]] bool over_budget() const {
    return budget_w && (unlimited > 0 || enforced_w > *budget_w * (1.0 + 1e-9) + 0.001);
  }
};

[[nodiscard]] FleetSums sums_of(const FleetView& view);

}  // namespace laird::control
