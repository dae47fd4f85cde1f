// Power over time from a folder of tegrastats captures.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "power/model/board.hpp"

namespace laird::lab {

struct RecordedPower {
  std::string name;
  std::vector<double> at_s;
  std::vector<double> power_mw;
};

// Files *.log in name order; those without power are left out.
[[nodiscard]] Result<std::vector<RecordedPower>> load_captures(const std::string& folder,
                                                               const power::Board& rules);

}  // namespace laird::lab
