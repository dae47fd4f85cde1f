// One picture of the fleet for a terminal of a given size. Pure: the boards' messages and the time
// come in, lines go out.
#pragma once

#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "control/screen/output.hpp"

namespace laird::control {

struct Piece {
  std::string text;
  Colour colour = Colour::kNone;
};
using Line = std::vector<Piece>;

// The text cut to so many columns, coloured or not.
[[nodiscard]] std::string line_text(const Line& line, std::size_t width, bool colour);

struct FrameOptions {
  std::string fleet;
  std::int64_t now_ms = 0;
  std::size_t width = 100;
  std::size_t height = 0;  // 0: as many lines as it takes
  std::size_t scroll = 0;  // tasks left out from the top
  bool connected = true;
  bool blocks = true;  // ▇ and ░ for bars; without UTF-8 # and .
};

[[nodiscard]] std::vector<Line> top_frame(const FleetView& view, const FrameOptions& options);

// A bar of so many characters that shows how much of `whole` is `part`, with a mark at `mark`.
[[nodiscard]] Line bar(double part, double mark, double whole, std::size_t width, bool blocks,
                       Colour colour);

}  // namespace laird::control
