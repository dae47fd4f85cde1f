// The system calls that a trainer has no use for, refused by the kernel's filter (Linux 3.5).
#pragma once

#include "cell/spec.hpp"

namespace laird::cell {

struct Refused {
  bool sockets = false;  // every socket() but a pair: for a cell without a network namespace
  bool tracing = false;  // ptrace: for a cell without a PID namespace
};

// Needs no_new_privs. Adds the guards that hold from now on.
void refuse_system_calls(const Refused& refused, Guards& guards);

}  // namespace laird::cell
