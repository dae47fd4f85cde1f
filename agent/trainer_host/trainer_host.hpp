// Where a trainer lives: the loop that hears it, and who is told what it says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/core/state/event.hpp"
#include "agent/os/loop.hpp"
#include "agent/os/process.hpp"
#include "trainer_protocol/from_agent.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::agent {

struct TrainerHost {
  Loop& loop;
  Processes& processes;
  std::function<void(core::EventBody)> emit;
  // What the trainer of a co-training task says to other boards: to one, or with an empty name to
  // all boards of its group. Passes the core by.
  std::function<void(core::TaskKey key, const std::string& to, std::string_view bytes)> to_peers;
  // How its group is.
  std::function<void(core::TaskKey key, const trainer_protocol::GroupStatus& group)> group;
  // What the board's meter has counted for a task.
  std::function<trainer_protocol::Metered(core::TaskKey key)> meter = {};
};

}  // namespace laird::agent
