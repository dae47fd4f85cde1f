// Power and load over time from a folder of tegrastats captures.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "power/model/board.hpp"

namespace laird::lab {

struct RecordedTrace {
  std::string name;
  std::vector<double> at_s;
  std::vector<double> power_mw;
  std::vector<double> gpu_load;  // 0 to 1; as long as at_s, or empty when a line lacks it
  std::vector<double> cpu_load;
};

// Files *.log in name order; those without power are left out.
[[nodiscard]] Result<std::vector<RecordedTrace>> load_captures(const std::string& folder,
                                                               const power::Board& rules);

}  // namespace laird::lab
