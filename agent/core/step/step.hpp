// The core: one pure function that everything else drives.
//
// Invariants after every step:
//  - at most one exclusive task, or tasks whose shares sum to at most the whole, per lane;
//  - no task past its deadline holds a grant;
//  - trainers that exist need no more memory than the board has for them;
//  - an accepted task is in `live` until it has an outcome, and gets exactly one.
#pragma once

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "base/error.hpp"

namespace laird::core {

// Applies the event and appends what must be done. The event must be admissible.
void step(State& state, const Event& event, Effects& out);

// For events that come from a file: says why an event cannot follow this state (time going back,
// unknown policy, too many lanes), so that a damaged or foreign journal is refused, not asserted
// on.
[[nodiscard]] Status admissible(const State& state, const Event& event);

// Whether the board would take the task now, and why not.
[[nodiscard]] Status admits(const State& state, const TaskSpec& spec);

// A recurring task in words: its windows, the next run, what came of the last, what was missed.
[[nodiscard]] std::string explain(const State& state, const Recurring& recurring);

// The numbers behind the last decision about a task, in words.
[[nodiscard]] Result<std::string> explain(const State& state, std::string_view task);

}  // namespace laird::core
