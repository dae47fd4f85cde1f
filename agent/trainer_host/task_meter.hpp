// What the board's meter has counted for a task, as a promotion is told of it.
#pragma once

#include "agent/core/state/state.hpp"
#include "trainer_protocol/from_agent.hpp"

namespace laird::agent {

// Above the board's idle power.
[[nodiscard]] trainer_protocol::Metered metered(const core::State& state, core::TaskKey key);

}  // namespace laird::agent
