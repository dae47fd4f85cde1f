// The words of `lairctl replay --what-if`, and what they change.
#pragma once

#include <span>
#include <string>

#include "agent/whatif/changes.hpp"
#include "base/error.hpp"

namespace laird::control {

// One word for each change:
//   nothing                            the life as it was, to see how near a rerun comes
//   policy=NAME   slice=2s   speed=1.5
//   cap=12W   cap=8W@10m   cap=none    from the journal's begin, or so long after it
//   budget=30W   budget=30W@10m        the fleet's
//   lanes=gpu,cpu   lanes=cpu:2,cpu:2  with the cores of each
//   board=NAME
//   deadline:TASK=2h   deadline:TASK=+30m   target:TASK=0.3   weight:TASK=3
//   without=TASK   with=NAME:TASK      one more task, which learns as TASK does
// An error names the word and what to write.
[[nodiscard]] Result<whatif::Changes> changes_of(std::span<const std::string> words);

}  // namespace laird::control
