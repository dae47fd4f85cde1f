// Texts of boards, made safe for a terminal and a page.
//
// A board may be hostile, and so may a journal from one. What it says must not move the cursor, set
// a title, change what is shown of other lines, or read other than it is written. These characters
// do: controls (C0, DEL, C1), line and paragraph separators, and the format characters of Unicode,
// the bidirectional ones among them.
#pragma once

#include <string>
#include <string_view>

namespace laird {

// On one line: each such character becomes a space, what is not UTF-8 becomes '?'.
[[nodiscard]] std::string harmless(std::string_view text);

// The same for lines that are put together already: ends of lines, tabs and the colours of
// painted() stay.
[[nodiscard]] std::string harmless_lines(std::string_view text);

// JSON says the same with those characters as escapes (\u202e), so nothing is lost to a program.
[[nodiscard]] std::string harmless_json(std::string_view text);

}  // namespace laird
