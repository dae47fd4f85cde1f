// The frame of every page: one file that works without a network, light and dark.
#pragma once

#include <string>
#include <string_view>

namespace laird::plot {

// The style has this many colours, as --c0 to --c7.
inline constexpr int kPlotColours = 8;
// For many lines of one kind there are more, none like another, as --m0 to --m23: kMany + i is the
// i-th of them.
inline constexpr int kManyColours = 24;
inline constexpr int kMany = 1000;
// The colour of the text, for what stands out from all of them.
inline constexpr int kInk = -1;

// The colour of that number, as CSS has it.
[[nodiscard]] std::string colour_of(int number);

// A picture drawn twice: for a screen, and for one of a phone's width, on which the first would be
// too small to read. The style shows one of them.
inline constexpr double kNarrowWidth = 360;
[[nodiscard]] std::string broad_and_narrow(std::string_view broad, std::string_view narrow);

// Text safe inside HTML and SVG.
[[nodiscard]] std::string escaped(std::string_view text);

// The style that all pages share: colours, type, tables, cards.
[[nodiscard]] std::string_view style();

// A whole page: `body` inside the style all pages share. `head` comes behind that style: a style or
// a policy of the page's own.
[[nodiscard]] std::string page(std::string_view title, std::string_view body,
                               std::string_view head = {});

}  // namespace laird::plot
