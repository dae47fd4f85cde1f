// Bytes as the life of a small board: whatever trainers, operators, clocks and meters might say, in
// any order, mostly addressed to tasks that exist so that the interesting states are reached.
#pragma once

#include "agent/core/step/step.hpp"
#include "tests/fuzz/events/feed.hpp"

namespace laird::fuzz {

[[nodiscard]] core::TaskSpec task_spec(Feed& feed);
[[nodiscard]] core::CoreConfig board_config(Feed& feed);
// The next event after `state`; it may be one that core::admissible refuses.
[[nodiscard]] core::Event next_event(Feed& feed, const core::State& state);

}  // namespace laird::fuzz
