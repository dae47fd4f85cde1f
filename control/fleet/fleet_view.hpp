// The fleet as an operator sees it, put together from the boards' retained topics.
//
// Pure: topics and payloads come in, rows go out. Payloads may be malformed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/natural_order.hpp"
#include "json/value.hpp"
#include "mqtt/codec/messages.hpp"
#include "mqtt/codec/topics.hpp"

namespace laird::control {

// What boards replied, by board.
using Replies = std::map<std::string, mqtt::Reply, NaturalLess>;

struct BoardView {
  std::string state = "unknown";  // ready, draining, drained, alert, offline, lost
  std::int64_t epoch = 0;
  std::string since;  // of the state
  json::Value info;
  json::Value report;
  json::Value power;             // the last tele/power, when they are listened to
  std::uint64_t generation = 0;  // see FleetView::begin_again

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
  std::uint64_t generation = 0;

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

using TaskPlace = std::pair<std::string, std::string>;  // board, name

struct TaskPlaceLess {
  bool operator()(const TaskPlace& a, const TaskPlace& b) const {
    return a.first == b.first ? NaturalLess{}(a.second, b.second) : NaturalLess{}(a.first, b.first);
  }
};

// These bound the memory of lairctl, whatever a broker sends.
struct ViewLimits {
  std::size_t boards_max = 10'000;
  std::size_t tasks_max = 200'000;
};

class FleetView {
 public:
  static constexpr std::size_t kEventsKept = 1'000;
  using Boards = std::map<std::string, BoardView, NaturalLess>;
  using Tasks = std::map<TaskPlace, TaskView, TaskPlaceLess>;
  // What has changed since somebody asked.
  struct Changed {
    std::set<std::string, NaturalLess> boards;
    std::set<TaskPlace, TaskPlaceLess> tasks;
  };

  explicit FleetView(ViewLimits limits = {}) : limits_(limits) {}

  void take(const mqtt::Topic& topic, std::string_view payload);

  // In the natural order of their names; tasks by board, then name.
  [[nodiscard]] const Boards& boards() const { return boards_; }
  [[nodiscard]] const Tasks& tasks() const { return tasks_; }
  // The tasks of a board; of all boards when it has no name.
  [[nodiscard]] std::vector<TaskView> tasks_of(const std::string& board) const;
  [[nodiscard]] std::deque<EventView>& events() { return events_; }
  [[nodiscard]] const std::deque<EventView>& events() const { return events_; }
  [[nodiscard]] const std::optional<BudgetView>& budget() const { return budget_; }
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  // Notes from now on which boards and tasks change; those that are gone are among them.
  void note_changes() { noting_ = true; }
  [[nodiscard]] Changed take_changed() { return std::exchange(changed_, {}); }

  // After a link that was lost the broker sends all that it retains once more. What it does not
  // send between these two calls is gone.
  void begin_again() { ++generation_; }
  void drop_unseen();

 private:
  void take_state(const mqtt::Topic& topic, std::string_view payload);
  void take_task(const mqtt::Topic& topic, std::string_view payload);
  void take_telemetry(const mqtt::Topic& topic, std::string_view payload);
  void note_board(const std::string& board);
  void note_task(const TaskPlace& place);

  ViewLimits limits_;
  bool noting_ = false;
  Changed changed_;
  std::uint64_t generation_ = 0;
  Boards boards_;
  Tasks tasks_;
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
