// The LaiRA studies as one self-contained page: successes and switches by policy, their growth with
// the number of tasks, and who ran when on one bundle.
#pragma once

#include <string>
#include <vector>

#include "lab/scheduling/study.hpp"

namespace laird::lab {

// One study and what it is of.
struct StudyTable {
  std::string title;
  std::size_t tasks = 0;  // per run
  StudyResult result;
};

// A bundle whose schedule under some policies is drawn.
struct DrawnBundle {
  std::string title;
  Bundle bundle;
};

[[nodiscard]] std::string laira_page(const std::vector<StudyTable>& tables,
                                     const std::vector<StudyTable>& scales,
                                     const std::vector<DrawnBundle>& bundles);

}  // namespace laird::lab
