// In which steps the boards of a fleet get another version: "1,5%,25%,all". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::control {

// How many boards have the version after each wave. Each number is a count or a part of all,
// rounded up; a wave that adds no board is left out, and the last one is always all.
[[nodiscard]] Result<std::vector<std::size_t>> waves_of(const std::string& text,
                                                        std::size_t boards);

}  // namespace laird::control
