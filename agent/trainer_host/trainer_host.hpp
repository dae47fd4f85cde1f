// Where a trainer lives: the loop that hears it, and who is told what it says.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/core/state/event.hpp"
#include "agent/os/loop.hpp"
#include "agent/os/process.hpp"

namespace laird::agent {

struct TrainerHost {
  Loop& loop;
  Processes& processes;
  std::function<void(core::EventBody)> emit;
  // What the trainer of a co-training task says to other boards: to one, or with an empty name to
  // all its neighbours. Passes the core by.
  std::function<void(core::TaskKey key, const std::string& to, std::string_view bytes)> to_peers;
};

}  // namespace laird::agent
