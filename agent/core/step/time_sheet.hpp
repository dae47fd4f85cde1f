// What held each task back, and for how long (agent/core/state/time_sheet.hpp).
//
// A stretch between two events is divided by what the state was meanwhile:
//  - A task that runs has the stretch, less what lowered clocks, quotas and freezing took of it
//    (throttled), less what tasks that share its lane had of it (those rivals, in equal parts).
//  - A task that is ready waits for the tasks that hold the lanes of its kind, in equal parts. If a
//    lane of its kind rests under a ceiling, the task is throttled, unless the turn that the rest
//    divides is another task's: without the ceiling that one would run now.
//  - A task without a trainer waits for memory that others hold: the whole stretch goes to the one
//    that holds most.
//  - Work since the last checkpoint is lost with its trainer. It is then moved from running to the
//    crash, or to the agent's absence.
#pragma once

#include <optional>

#include "agent/core/state/state.hpp"

namespace laird::core {

// Adds the time from the state's last event up to `until`. `agent_down`: the event at `until` says
// that the agent has only just started.
void account_time(State& state, TimeNs until, bool agent_down);

// The task's time sheet as it will be at `until` if nothing happens before.
[[nodiscard]] TimeSheet time_sheet_at(const State& state, const Task& task, TimeNs until);

// What the time counts as that the last crash of the task's trainer costs.
[[nodiscard]] TimeUse crash_use(const Task& task);

struct Throttled {
  Throttler by = Throttler::kNone;
  std::int64_t limit = 0;  // in mW; of kFleetTime in millionths of the lane's time
};

// A task whose lane may work for at least this part of the time is shown as running: a governor
// that holds a board just at its cap moves by a few per cent.
inline constexpr std::uint32_t kThrottledBelowPpm = 950'000;

// Whose limit holds the task back now, in a way that people are told of; nothing when none does.
[[nodiscard]] std::optional<Throttled> throttled_now(const State& state, const Task& task);

}  // namespace laird::core
