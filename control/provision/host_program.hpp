// Runs a program of this machine to its end, without a shell and with a small environment of its
// own.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

struct Ran {
  int code = 0;          // of exit; -1 when a signal ended it
  std::string output;    // what it printed
  std::string messages;  // what it wrote to standard error
};

// argv[0] is an absolute path. The program is killed when this process ends.
[[nodiscard]] Result<Ran> run_host_program(const std::vector<std::string>& argv);

}  // namespace laird::control
