// Runs another program to its end: its output into a log, its time bounded. It ends with this
// process, whatever ends this process.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"

namespace laird {

struct Ended {
  int code = 0;    // of exit; -1 when a signal ended it
  int signal = 0;  // 0: none
  bool timed_out = false;
  std::string output;  // both streams; of a long one the beginning and the end
};

[[nodiscard]] Result<Ended> run_program(const std::vector<std::string>& argv,
                                        const std::string& log, DurationNs most);

}  // namespace laird
