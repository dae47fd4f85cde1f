// A recorded life, run again by the unchanged core with other settings.
//
// What was asked of the board comes when it came then. Trainers start, work, pause, stop and crash
// as recorded (recording.hpp), each report at the sample count at which one came, as far as the
// core's decisions of this life let them. A power reading is the recorded one plus what the lanes
// draw now less what they drew then. The fleet leaves the board what it left it then.
// Where a task gets further than it did then, its losses come from its last forecast.
#pragma once

#include <functional>
#include <set>

#include "agent/core/state/effect.hpp"
#include "agent/whatif/changes.hpp"
#include "agent/whatif/recording.hpp"

namespace laird::whatif {

// Which quantile of the forecast losses follow beyond what was recorded.
enum class Beyond : std::uint8_t { kMedian, kLow, kHigh };

using RerunWatch = std::function<void(const core::Event& event, const core::State& state,
                                      const core::Effects& effects)>;

// Sees the last state.
using RerunEnd = std::function<void(const core::State& state)>;

struct Rerun {
  Tally tally;
  // Tasks that got further than they did then: their losses, or their speed, were forecast.
  std::set<TaskId> beyond;
  std::vector<std::string> refused;  // submissions, with the reason
  std::uint64_t events = 0;
  TimeNs ended_at = 0;  // the last event
};

[[nodiscard]] Result<Rerun> run_again(const Recording& recording, const Changes& changes,
                                      Beyond beyond = Beyond::kMedian, const RerunWatch& watch = {},
                                      const RerunEnd& end = {});

}  // namespace laird::whatif
