// A training run under an agent: listens on the socket between batches, works within the limit it
// was given, reports, checkpoints, stops. Blocks without using the processor when it may not work.
#pragma once

#include "trainers/model/params.hpp"

namespace laird::trainers {

// How a trainer leaves; the agent reads it from wait().
inline constexpr int kExitStopped = 0;
inline constexpr int kExitError = 1;      // after an `error` message
inline constexpr int kExitUsage = 2;      // wrong command line or LAIRD_FD
inline constexpr int kExitAgentGone = 3;  // the socket closed; nothing was written

// Runs the protocol on the connected socket `fd` until stop, error or the agent is gone.
[[nodiscard]] int run_session(int fd, Kind kind);

}  // namespace laird::trainers
