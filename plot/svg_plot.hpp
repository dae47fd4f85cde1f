// Line plots and histograms as inline SVG, for pages that must work from one file without a
// network.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plot/page.hpp"

namespace laird::plot {

struct PlotPoint {
  double x = 0;
  double low = 0;  // lowest and highest value in the point's width; equal for a plain line
  double high = 0;
  double mean = 0;
};

struct PlotSeries {
  std::string name;
  int colour = 0;  // index into the page's palette
  std::vector<PlotPoint> points;
  bool strong = false;  // drawn thicker, with the spread between low and high shaded
  bool stepped = false;
  bool dashed = false;
  bool filled = false;  // only the area between low and high
  bool dot = false;     // on its first point
};

// Something that happened at one moment: a line from top to bottom, with its name.
struct PlotMark {
  double x = 0;
  std::string text;
};

struct Plot {
  std::string x_unit;
  std::string y_unit;
  std::vector<PlotSeries> series;
  std::vector<PlotMark> marks;  // ascending
  // The axis covers at least this, so that plots of one time stand under each other.
  double x_from = 0;
  double x_to = 0;
  // Points further apart than this are not joined; 0 joins everything.
  double gap_x = 0;
  double width = 960;
  double height = 280;
  bool from_zero = true;
  bool has_legend = true;
  // Logarithmic axes. x is moved by `x_log_offset` first, so that a point at 0 has a place; points
  // without one are left out.
  bool x_log = false;
  bool y_log = false;
  double x_log_offset = 0;
  // When y_to is above y_from: the y axis is exactly that, and values beyond it lie on its edge.
  double y_from = 0;
  double y_to = 0;
};

struct Bar {
  double from = 0;
  double to = 0;
  double value = 0;
};

[[nodiscard]] std::string svg_lines(const Plot& plot);
[[nodiscard]] std::string svg_histogram(const std::vector<Bar>& bars, std::string_view x_unit,
                                        std::string_view y_unit);

// 1, 2 or 5 times a power of ten, so that about `count` of them cover the span.
[[nodiscard]] double nice_step(double span, int count);
// A number with as few digits as show three figures.
[[nodiscard]] std::string short_number(double v);

}  // namespace laird::plot
