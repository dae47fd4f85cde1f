// The page of a governor run: numbers and one plot per scenario, in one file.
#pragma once

#include <string>
#include <vector>

#include "lab/governor/loop.hpp"

namespace laird::lab {

[[nodiscard]] std::string governor_page(const power::Board& board,
                                        const std::vector<LoopResult>& results);

}  // namespace laird::lab
