// Numbers in explanations.
#pragma once

#include <charconv>
#include <string>

namespace laird::policies {

// Three significant digits: "0.123", "1.2e+05".
[[nodiscard]] inline std::string shortened(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 3);
  return std::string(text, end.ptr);
}

}  // namespace laird::policies
