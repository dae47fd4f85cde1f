// A recorded life beside the same life with other settings, as one page.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/story/story.hpp"

namespace laird::report {

struct WhatIfText {
  std::vector<std::string> changes;   // as they were asked for
  std::vector<std::string> fidelity;  // a line a board: how near a rerun with nothing changed comes
  std::vector<std::string> notes;
  std::vector<std::string> sums;               // of all tasks: as it was, and what would have been
  std::vector<std::vector<std::string>> rows;  // of the table "as it was / what if"
  bool good = true;                            // all of them are as near as is promised
  bool with_board = false;                     // rows begin with the board
};

// `boards` are pairs: a board as it was, then what would have been.
[[nodiscard]] std::string what_if_page(std::span<const story::BoardStory> boards,
                                       const WhatIfText& text);

}  // namespace laird::report
