// Boards, tasks and events as the page shows them: numbers with their units in the names, times in
// Unix milliseconds, texts made harmless. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/fleet/fleet_view.hpp"
#include "json/value.hpp"

namespace laird::control::serve {

// What a board draws: the mean of its last seconds where it tells one.
[[nodiscard]] std::optional<double> drawn_w(const BoardView& board);
// The cap that holds now, whosever it is.
[[nodiscard]] std::optional<double> limit_w(const BoardView& board);

// `heard_ms`: when the board was last heard.
[[nodiscard]] json::Value board_row(const std::string& id, const BoardView& board,
                                    std::int64_t heard_ms);
[[nodiscard]] json::Value task_row(const TaskView& task);
[[nodiscard]] json::Value event_row(const EventView& event);

// "n-1/night-run": how the page names a task.
[[nodiscard]] std::string key_of(const TaskPlace& place);

}  // namespace laird::control::serve
