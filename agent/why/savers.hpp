// Private to the room: what would have saved a task, and numbers as people read them.
#pragma once

#include <string>

#include "agent/why/why.hpp"

namespace laird::why {

// The finding has its time sheet, its need and its cause already.
void add_savers(Finding& finding, const core::State& state, const core::Task& task);

// Four figures: "0.4213", "12.35".
[[nodiscard]] std::string loss_number(double loss);
[[nodiscard]] std::string percent(double probability);
// With a number of digits behind the point.
[[nodiscard]] std::string fixed(double value, int digits);

}  // namespace laird::why
