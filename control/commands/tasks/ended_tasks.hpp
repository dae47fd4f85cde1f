// get tasks --ended: what became of the tasks that are over, from the boards' memory.
#pragma once

#include <string>

#include "control/fleet/reach.hpp"

namespace laird::control {

struct EndedOptions {
  bool ended = false;
  std::string since;  // "7d"; empty: all that the boards remember
};

// The code to exit with.
[[nodiscard]] int show_ended(const Reach& reach, const EndedOptions& options);

}  // namespace laird::control
