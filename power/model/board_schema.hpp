// The schema of board_configs/*.json, and the way from such a document to a Board.
//
// Beyond types and ranges it checks what a table cannot say: a total rule names known rails, every
// rail of a sensor is described, there is a lane, and every number in the file has an evidence
// entry that says where it comes from or that nobody has confirmed it.
#pragma once

#include <string_view>
#include <vector>

#include "config/schema.hpp"
#include "json/value.hpp"
#include "power/model/board.hpp"

namespace laird::power {

[[nodiscard]] const config::Schema& board_schema();

// Problems are appended; the board may be used only if there were none.
[[nodiscard]] Board parse_board(const json::Value& document, std::string_view source,
                                std::vector<config::Problem>& problems);

inline constexpr std::size_t kBoardRailsMax = 16;
inline constexpr std::size_t kBoardLanesMax = 8;
inline constexpr std::size_t kBoardModesMax = 16;

}  // namespace laird::power
