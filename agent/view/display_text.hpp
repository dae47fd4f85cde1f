// The texts that display.hpp shows to the person at the terminal. Pure.
#pragma once

#include <string>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/state.hpp"

namespace laird::agent {

// The board, its power and a row for each task.
[[nodiscard]] std::string table_text(const core::State& state, TimeNs now, bool colour);
// One line for each task that has not ended.
[[nodiscard]] std::string live_task_lines(const core::State& state, TimeNs now);
// One line for a change that people want to hear of; empty for any other.
[[nodiscard]] std::string change_line(const core::Task& task, const core::TaskChanged& change,
                                      TimeNs now);
// What became of every task, and the energy.
[[nodiscard]] std::string summary_text(const core::State& state, TimeNs now, bool colour);

}  // namespace laird::agent
