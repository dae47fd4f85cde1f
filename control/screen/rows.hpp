// Boards, tasks and events as rows of tables and as JSON. Pure: the time comes in.
#pragma once

#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "control/screen/output.hpp"

namespace laird::control {

[[nodiscard]] std::vector<Column> board_columns(bool wide);
inline constexpr std::size_t kAgeColumn = 11;
[[nodiscard]] std::vector<std::string> board_row(const std::string& id, const BoardView& board,
                                                 bool wide, std::int64_t now_ms);
[[nodiscard]] json::Value board_json(const std::string& id, const BoardView& board,
                                     std::int64_t now_ms);

// `with_board`: a fleet's list says which board a task is on, that of one board does not.
[[nodiscard]] std::vector<Column> task_columns(bool with_board, bool wide);
[[nodiscard]] std::vector<std::string> task_row(const TaskView& task, bool with_board, bool wide);
[[nodiscard]] json::Value task_json(const TaskView& task);
// A line for each sweep that these tasks are members of: its best member, and how many go on. Empty
// where there is none.
[[nodiscard]] std::string sweeps_text(const std::vector<TaskView>& tasks);
[[nodiscard]] std::string tasks_table(const std::vector<TaskView>& tasks, bool with_board,
                                      bool wide);

[[nodiscard]] std::string event_line(const EventView& event);
[[nodiscard]] json::Value event_json(const EventView& event);

// Several lines for people.
[[nodiscard]] std::string describe_board(const std::string& id, const BoardView& board,
                                         std::int64_t now_ms);
[[nodiscard]] std::string describe_task(const TaskView& task);
// "round 82 of 200; waits for n-3; right on rows held out: 82.3% (n-1 81.0%, n-2 83.1%)"; empty for
// a task without a group.
[[nodiscard]] std::string group_words(const TaskView& task);

// "by the operator's cap of 8.0 W"; empty: it is not throttled.
[[nodiscard]] std::string throttled_words(const TaskView& task);

// A schedule, whose runs have deadlines: it has none of its own.
[[nodiscard]] bool recurs(const TaskView& task);
// A task that is not over; a schedule is none, its runs are.
[[nodiscard]] bool is_live(const TaskView& task);
// A task whose deadline is at risk: live, and the forecast says it is more likely missed than met.
[[nodiscard]] bool is_at_risk(const TaskView& task);

// "ok: 8 of 8 boards are live; ...", "warning: ...", "OVER BUDGET: ...".
struct Verdict {
  enum class Level : unsigned char { kOk, kWarning, kBroken } level = Level::kOk;
  std::string text;
};
[[nodiscard]] Verdict verdict_of(const FleetView& view);

}  // namespace laird::control
