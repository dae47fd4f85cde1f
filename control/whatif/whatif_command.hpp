// `lairctl replay --what-if`: a journal with other settings, or with every policy.
#pragma once

#include <string>
#include <vector>

namespace laird::control {

struct WhatIfWishes {
  std::string journal;  // a file, a folder, a state folder, or a folder of those of a fleet
  std::vector<std::string> changes;
  std::string policies;  // "all", or names with commas; empty: no comparison
  std::string page;
  bool json = false;
};

// The code to exit with.
[[nodiscard]] int what_if(const WhatIfWishes& wishes);

}  // namespace laird::control
