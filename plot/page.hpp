// The frame of every page: one file that works without a network, light and dark.
#pragma once

#include <string>
#include <string_view>

namespace laird::plot {

// The style has this many colours, as --c0 to --c7.
inline constexpr int kPlotColours = 8;

// Text safe inside HTML and SVG.
[[nodiscard]] std::string escaped(std::string_view text);

// A whole page: `body` inside the style all pages share.
[[nodiscard]] std::string page(std::string_view title, std::string_view body);

}  // namespace laird::plot
