#pragma once

#include <span>
#include <string_view>

namespace laird::config {

// The candidate a mistyped word most likely meant: least edit distance (insert, delete, replace,
// swap of neighbours), at most about a third of the word wrong; empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> candidates);

}  // namespace laird::config
