// What a person at `lairctl top` has chosen to see: which list the keys move in, what is selected,
// sorted and filtered, and which board or task is open. Pure: keys and the fleet come in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/fleet/fleet_view.hpp"

namespace laird::control {

enum class TaskSort : unsigned char { kRisk, kName, kDeadline, kBoard, kLoss };
enum class BoardSort : unsigned char { kName, kPower, kHeat, kTasks };
[[nodiscard]] std::string_view name(TaskSort sort);
[[nodiscard]] std::string_view name(BoardSort sort);

// What of the fleet is shown, and in which order.
struct Shown {
  std::string filter;  // in a board's or a task's name, or in a task's state; no case
  TaskSort task_sort = TaskSort::kRisk;
  BoardSort board_sort = BoardSort::kName;
};
using BoardRef = std::pair<const std::string, BoardView>;
[[nodiscard]] std::vector<const TaskView*> shown_tasks(const FleetView& view, const Shown& shown);
[[nodiscard]] std::vector<const BoardRef*> shown_boards(const FleetView& view, const Shown& shown);

// The losses of the fleet's tasks since somebody looks on, thinned where they are many.
class Curves {
 public:
  struct Point {
    std::int64_t at_ms = 0;
    double loss = 0.0;
  };
  static constexpr std::size_t kPointsMax = 240;  // of a task
  static constexpr std::size_t kTasksMax = 2'000;

  void note(const FleetView& view, std::int64_t now_ms);
  [[nodiscard]] const std::vector<Point>& of(const TaskPlace& place) const;

 private:
  struct Curve {
    std::vector<Point> points;
    std::int64_t every_ms = 0;
  };
  std::map<TaskPlace, Curve, TaskPlaceLess> curves_;
};

class Cockpit {
 public:
  enum class Then : unsigned char { kNothing, kDraw, kRedraw, kQuit };

  // What was typed: one key, or several that came together. `page`: rows that a page key moves.
  Then press(std::string_view keys, const FleetView& view, std::size_t page);

  [[nodiscard]] const Shown& shown() const { return shown_; }
  [[nodiscard]] bool on_boards() const { return on_boards_; }
  [[nodiscard]] bool typing() const { return typing_; }
  [[nodiscard]] const std::optional<TaskPlace>& task() const { return task_; }
  [[nodiscard]] const std::string& board() const { return board_; }
  // The selected one is open.
  [[nodiscard]] bool open() const { return open_; }

 private:
  Then type(std::string_view keys);
  void move(const FleetView& view, std::int64_t by);
  void sort_on();

  Shown shown_;
  bool on_boards_ = false;
  bool typing_ = false;
  bool open_ = false;
  std::optional<TaskPlace> task_;
  std::string board_;
};

}  // namespace laird::control
