// What this board would make of a task it does not have: for placing it where it does best.
#pragma once

#include "agent/core/state/state.hpp"
#include "json/value.hpp"

namespace laird::placement {

struct Bid {
  Status admits;              // why not, if not
  double rate = 0.0;          // samples per second alone on its lane; 0: not known
  double samples = 0.0;       // work until done; 0: not known
  double free_share = 0.0;    // of the lane, after what it owes its other tasks
  double finish_in_s = -1.0;  // -1: not known
  double energy_j = -1.0;     // above idle; -1: not known
  double probability = 0.0;   // of meeting the deadline
  std::string basis;          // in words
};

// From tasks of the same trainer this board has run, else from what the task says of itself.
// `admits`: whether the board would take the task at all (core::admits).
[[nodiscard]] Bid bid_for(const core::State& state, const core::TaskSpec& spec, Status admits,
                          TimeNs now);
[[nodiscard]] json::Value bid_json(const Bid& bid);

}  // namespace laird::placement
