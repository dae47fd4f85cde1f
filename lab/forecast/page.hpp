// Draws real curves with the forecasts made along them as one HTML page that needs nothing else.
#pragma once

#include <string>
#include <vector>

#include "lab/forecast/curves.hpp"

namespace laird::lab {

// Per curve: the reports, and from 2, 10 and 30% of them the forecast with its 90% band, made with
// constants tuned without the curve's source.
[[nodiscard]] std::string draw_page(const std::vector<Curve>& curves);

}  // namespace laird::lab
