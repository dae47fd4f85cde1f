// One picture of the fleet for a terminal of a given size. Pure: the boards' messages and the time
// come in, lines go out.
#pragma once

#include <string>
#include <vector>

#include "control/fleet/fleet_view.hpp"
#include "control/screen/cockpit.hpp"
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
  std::size_t height = 0;            // 0: as many lines as it takes
  const Cockpit* cockpit = nullptr;  // what a person has chosen; none: one picture of all
  const Curves* curves = nullptr;
  bool connected = true;
  bool blocks = true;  // ▇ and ░ for bars; without UTF-8 # and .
};

[[nodiscard]] std::vector<Line> top_frame(const FleetView& view, const FrameOptions& options);

// One board or task with all that is known of it, a task with its curve.
[[nodiscard]] std::vector<Line> detail_frame(const FleetView& view, const FrameOptions& options);
// What keys do, and what is chosen.
[[nodiscard]] Line help_line(const Cockpit& cockpit);
// The text cut or filled to so many columns.
[[nodiscard]] std::string padded(std::string text, std::size_t width, bool right = false);

// A bar of so many characters that shows how much of `whole` is `part`, with a mark at `mark`.
[[nodiscard]] Line bar(double part, double mark, double whole, std::size_t width, bool blocks,
                       Colour colour);

}  // namespace laird::control
