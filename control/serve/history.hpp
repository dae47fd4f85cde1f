// What has been since the page began to look: power, temperature and losses over time, in bounded
// memory. Long series are thinned, and their extremes stay (report/story/series.hpp). Pure.
#pragma once

#include <map>
#include <string>

#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"
#include "report/story/series.hpp"

namespace laird::control::serve {

inline constexpr std::size_t kBoardsWithHistory = 256;
inline constexpr std::size_t kTasksWithHistory = 1'000;

class History {
 public:
  // Times never go back: the caller sees to it.
  void take_board(const std::string& id, const BoardView& board, TimeNs now);
  void take_task(const TaskPlace& place, const TaskView& task, TimeNs now);
  // The loss of a task that runs, as its board tells it every second.
  void take_running(const std::string& id, const BoardView& board, TimeNs now);
  void take_fleet(const FleetView& view, TimeNs now);
  void forget_task(const TaskPlace& place) { tasks_.erase(place); }
  void forget_board(const std::string& id) { boards_.erase(id); }

  // As {"name": {"t": [first, steps...], "v": [...]}}: times in milliseconds.
  [[nodiscard]] json::Value fleet_json() const;
  [[nodiscard]] json::Value board_json(const std::string& id) const;
  [[nodiscard]] json::Value task_json(const TaskPlace& place) const;
  // A few points, for a small picture.
  [[nodiscard]] json::Value board_sketch(const std::string& id) const;
  [[nodiscard]] json::Value task_sketch(const TaskPlace& place) const;

 private:
  static constexpr std::size_t kFine = 240;    // places
  static constexpr std::size_t kCoarse = 120;  // for what changes seldom, or is looked at seldom

  struct BoardPast {
    story::Series drawn{kFine};
    story::Series limit{kCoarse};
    story::Series temperature{kCoarse};
    story::Series gpu{kCoarse};
    std::int64_t told_ms = 0;  // of the last tele/power
  };
  struct TaskPast {
    story::Series loss{kFine};
    story::Series chance{kCoarse};
    double samples = -1.0;
    TimeNs chance_at = 0;
  };
  TaskPast* task_past(const TaskPlace& place);
  static void add_loss(TaskPast& past, TimeNs now, double samples, double loss);

  std::map<std::string, BoardPast, NaturalLess> boards_;
  std::map<TaskPlace, TaskPast, TaskPlaceLess> tasks_;
  story::Series drawn_{600};
  story::Series given_{kFine};
  story::Series asks_{kFine};
  story::Series budget_{kCoarse};
};

}  // namespace laird::control::serve
