// Numbers as texts, the same on every machine and in every locale.
#pragma once

#include <string>

namespace laird::story {

// With so many digits behind the point.
[[nodiscard]] std::string fixed(double value, int digits);
// As few digits as give so many figures: "0.4213", "12.35", "1.2e-07".
[[nodiscard]] std::string figures(double value, int count);

}  // namespace laird::story
