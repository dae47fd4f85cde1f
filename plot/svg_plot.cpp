#include "plot/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "plot/page.hpp"

namespace laird::plot {
namespace {

constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 24;  // room for the unit above the axis
constexpr double kBroadFrom = 400;
constexpr double kNarrowHeight = 260;
constexpr double kMarkRow = 12;
constexpr double kBottom = 34;

std::string fixed(double v, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

// The coordinates of one picture: a tenth of a pixel is enough.
std::string px(double v) { return fixed(v, 1); }

struct Axis {
  double low = 0;
  double high = 1;
  double step = 0.2;
  double from = 0;  // pixels
  double to = 1;
  bool log = false;
  double offset = 0;  // of a logarithmic axis
  bool bounded = false;

  [[nodiscard]] double of(double v) const { return log ? std::log(v + offset) : v; }
  [[nodiscard]] double at(double v) const {
    const double share = (of(v) - of(low)) / (of(high) - of(low));
    return from + (bounded ? std::clamp(share, 0.0, 1.0) : share) * (to - from);
  }
};

std::string tick_text(double v, double step);

// Where an axis has its numbers, and what they are.
std::vector<std::pair<double, std::string>> ticks_of(const Axis& axis) {
  std::vector<std::pair<double, std::string>> out;
  if (!axis.log) {
    for (double v = std::ceil(axis.low / axis.step - 1e-9) * axis.step;
         v <= axis.high + axis.step * 1e-6; v += axis.step) {
      out.emplace_back(v, tick_text(v, axis.step));
    }
    return out;
  }
  // One of each decade; with two and five where there are few decades.
  const double decades = (axis.of(axis.high) - axis.of(axis.low)) / std::log(10.0);
  for (int e = -12; e <= 15; ++e) {
    for (const double m : {1.0, 2.0, 5.0}) {
      const double v = m * std::pow(10.0, e);
      if ((m != 1.0 && decades > 1.6) || v < axis.low || v > axis.high) continue;
      char text[32];
      std::snprintf(text, sizeof text, v >= 1e6 || v < 0.01 ? "%.0e" : "%g", v);
      // Not on the one before: an offset presses the smallest together.
      if (!out.empty() && std::fabs(axis.at(v) - axis.at(out.back().first)) < 14) continue;
      out.emplace_back(v, text);
    }
  }
  return out;
}

Axis make_axis(double low, double high, int count, bool round_up) {
  Axis axis;
  if (!(high > low)) high = low + 1;
  axis.step = nice_step(high - low, count);
  axis.low = round_up ? std::floor(low / axis.step) * axis.step : low;
  axis.high = round_up ? std::ceil(high / axis.step) * axis.step : high;
  return axis;
}

std::string tick_text(double v, double step) {
  const int decimals = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fixed(std::fabs(v) < step * 1e-6 ? 0.0 : v, std::min(decimals, 6));
}

std::string frame(const Axis& x, const Axis& y, std::string_view x_unit, std::string_view y_unit) {
  std::string out;
  for (const auto& [v, text] : ticks_of(y)) {
    out += "<line class=grid x1=" + px(x.from) + " x2=" + px(x.to) + " y1=" + px(y.at(v)) +
           " y2=" + px(y.at(v)) + " />";
    out += "<text class=ty x=" + px(x.from - 8) + " y=" + px(y.at(v) + 4) + ">" + text + "</text>";
  }
  for (const auto& [v, text] : ticks_of(x)) {
    out += "<line class=tick x1=" + px(x.at(v)) + " x2=" + px(x.at(v)) + " y1=" + px(y.from) +
           " y2=" + px(y.from + 4) + " />";
    out += "<text class=tx x=" + px(x.at(v)) + " y=" + px(y.from + 17) + ">" + text + "</text>";
  }
  out +=
      "<text class=ty x=" + px(x.to) + " y=" + px(y.from + 31) + ">" + escaped(x_unit) + "</text>";
  out += "<text class=\"ty unit\" x=" + px(x.from - 8) + " y=" + px(y.to - 11) + ">" +
         escaped(y_unit) + "</text>";
  return out;
}

std::string line_path(const PlotSeries& s, const Axis& x, const Axis& y, double gap_x) {
  std::string d;
  double last = -std::numeric_limits<double>::infinity();
  for (const PlotPoint& p : s.points) {
    const bool join = !d.empty() && (gap_x <= 0 || p.x - last <= gap_x);
    if (join && s.stepped) d += "H" + px(x.at(p.x));
    d += (join ? "L" : "M") + px(x.at(p.x)) + "," + px(y.at(p.mean));
    last = p.x;
  }
  return d;
}

// Closed shapes between low and high, one per run of points without a gap.
std::string band_path(const PlotSeries& s, const Axis& x, const Axis& y, double gap_x) {
  std::string d;
  std::size_t start = 0;
  for (std::size_t i = 1; i <= s.points.size(); ++i) {
    const bool ends =
        i == s.points.size() || (gap_x > 0 && s.points[i].x - s.points[i - 1].x > gap_x);
    if (!ends) continue;
    if (i - start > 1) {
      for (std::size_t k = start; k < i; ++k) {
        d += (k == start ? "M" : "L") + px(x.at(s.points[k].x)) + "," + px(y.at(s.points[k].high));
      }
      for (std::size_t k = i; k-- > start;) {
        d += "L" + px(x.at(s.points[k].x)) + "," + px(y.at(s.points[k].low));
      }
      d += "Z";
    }
    start = i;
  }
  return d;
}

// Names stand above the axes, those too close to the one before in a further row.
std::string mark_lines(const std::vector<PlotMark>& marks, const Axis& x, const Axis& y,
                       std::size_t rows) {
  constexpr double kLetter = 6.2;
  std::string out;
  std::vector<double> row_end(rows, -1e9);
  for (const PlotMark& mark : marks) {
    if (mark.x < x.low || mark.x > x.high) continue;
    const double at = x.at(mark.x);
    const double wide = kLetter * static_cast<double>(mark.text.size());
    const bool left = at + wide > x.to;  // no room on its right
    const double begin = left ? at - wide : at;
    std::size_t row = 0;
    while (row + 1 < rows && begin < row_end[row] + 8) ++row;
    row_end[row] = begin + wide;
    const double text_y = y.to - 3 - kMarkRow * static_cast<double>(row);
    out += "<line class=mark x1=" + px(at) + " x2=" + px(at) + " y1=" + px(text_y + 2) +
           " y2=" + px(y.from) + " />";
    out += std::string("<text class=\"mark") + (left ? " ty" : "") +
           "\" x=" + px(left ? at - 3 : at + 3) + " y=" + px(text_y) + ">" + escaped(mark.text) +
           "</text>";
  }
  return out;
}

std::string legend(const Plot& plot) {
  std::string out = "<div class=legend>";
  for (const PlotSeries& s : plot.series) {
    out += "<span><i style=\"background:" + colour_of(s.colour) + "\"></i>" + escaped(s.name) +
           "</span>";
  }
  return out + "</div>";
}

// Nothing at or below 0 has a place on a logarithmic axis.
bool has_place(const Plot& plot, const PlotPoint& p) {
  if (plot.x_log && !(p.x + plot.x_log_offset > 0)) return false;
  return !plot.y_log || (p.low > 0 && p.high > 0 && p.mean > 0);
}

std::string open_svg(double width, double height) {
  return "<svg viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=img>";
}

struct Ranges {
  double x_low = std::numeric_limits<double>::infinity();
  double x_high = -std::numeric_limits<double>::infinity();
  double y_low = std::numeric_limits<double>::infinity();
  double y_high = -std::numeric_limits<double>::infinity();
};

Ranges ranges_of(const Plot& plot) {
  Ranges r;
  for (const PlotSeries& s : plot.series) {
    for (const PlotPoint& p : s.points) {
      r.x_low = std::min(r.x_low, p.x);
      r.x_high = std::max(r.x_high, p.x);
      r.y_low = std::min(r.y_low, s.strong || s.filled ? p.low : p.mean);
      r.y_high = std::max(r.y_high, s.strong || s.filled ? p.high : p.mean);
    }
  }
  if (plot.x_to > plot.x_from) {
    r.x_low = std::min(r.x_low, plot.x_from);
    r.x_high = std::max(r.x_high, plot.x_to);
  }
  if (plot.from_zero && !plot.y_log) r.y_low = std::min(0.0, r.y_low);
  // A first point just after zero must not cost the axis its zero.
  if (!plot.x_log && r.x_low > 0 && r.x_low < 0.02 * r.x_high) r.x_low = 0;
  if (plot.y_to > plot.y_from) {
    r.y_low = plot.y_from;
    r.y_high = plot.y_to;
  }
  return r;
}

std::string series_paths(const PlotSeries& s, const Axis& x, const Axis& y, double gap_x) {
  const std::string colour = colour_of(s.colour);
  const std::string named = "\"><title>" + escaped(s.name) + "</title></path>";
  if (s.filled) {
    return "<path class=area style=\"fill:" + colour + "\" d=\"" + band_path(s, x, y, gap_x) +
           named;
  }
  std::string out;
  if (s.strong) {
    out +=
        "<path class=band style=\"fill:" + colour + "\" d=\"" + band_path(s, x, y, gap_x) + "\"/>";
  }
  out += "<path class=\"line" + std::string(s.strong ? " strong" : "") +
         (s.dashed ? " dashed" : "") + "\" style=\"stroke:" + colour + "\" d=\"" +
         line_path(s, x, y, gap_x) + named;
  if (s.dot && !s.points.empty()) {
    out += "<circle r=3.5 style=\"fill:" + colour + "\" cx=" + px(x.at(s.points[0].x)) +
           " cy=" + px(y.at(s.points[0].mean)) + " />";
  }
  return out;
}

std::string picture(const Plot& plot, const Ranges& r) {
  const bool is_bounded = plot.y_to > plot.y_from;
  const bool is_broad = plot.width > kBroadFrom;
  const std::size_t mark_rows = is_broad ? 2 : 4;
  Axis x = make_axis(r.x_low, r.x_high, is_broad ? 8 : 4, false);
  Axis y = make_axis(r.y_low, r.y_high, 5, !is_bounded && !plot.y_log);
  x.log = plot.x_log;
  x.offset = plot.x_log_offset;
  y.log = plot.y_log;
  y.bounded = is_bounded;
  x.from = kLeft;
  x.to = plot.width - kRight;
  y.from = plot.height - kBottom;
  y.to = kTop + (is_broad || plot.marks.size() < 3 ? 0.0 : 2 * kMarkRow);
  std::string out = open_svg(plot.width, plot.height) + frame(x, y, plot.x_unit, plot.y_unit);
  for (const PlotSeries& s : plot.series) out += series_paths(s, x, y, plot.gap_x);
  return out + mark_lines(plot.marks, x, y, mark_rows) + "</svg>";
}

std::string histogram(const std::vector<Bar>& bars, std::string_view x_unit,
                      std::string_view y_unit, double width) {
  double top = 0;
  for (const Bar& bar : bars) top = std::max(top, bar.value);
  Axis x = make_axis(bars.front().from, bars.back().to, width > kBroadFrom ? 8 : 4, false);
  Axis y = make_axis(0, top, 4, true);
  x.from = kLeft;
  x.to = width - kRight;
  y.from = 220 - kBottom;
  y.to = kTop;
  std::string out = open_svg(width, 220) + frame(x, y, x_unit, y_unit);
  for (const Bar& bar : bars) {
    if (bar.value <= 0) continue;
    const double left = x.at(bar.from) + 0.5;
    const double wide = std::max(1.0, x.at(bar.to) - x.at(bar.from) - 1.0);
    out += "<rect class=bar x=" + px(left) + " y=" + px(y.at(bar.value)) + " width=" + px(wide) +
           " height=" + px(y.from - y.at(bar.value)) + "><title>" + short_number(bar.from) +
           " to " + short_number(bar.to) + " " + escaped(x_unit) + ": " + short_number(bar.value) +
           " " + escaped(y_unit) + "</title></rect>";
  }
  return out + "</svg>";
}

}  // namespace

double nice_step(double span, int count) {
  const double rough = span / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

std::string short_number(double v) {
  const double size = std::fabs(v);
  return fixed(v, size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

std::string svg_lines(const Plot& given) {
  Plot plot = given;
  for (PlotSeries& s : plot.series) {
    std::erase_if(s.points, [&](const PlotPoint& p) { return !has_place(plot, p); });
  }
  const bool is_empty = std::all_of(plot.series.begin(), plot.series.end(),
                                    [](const PlotSeries& s) { return s.points.empty(); });
  if (is_empty) return "<p class=none>No values.</p>";
  const Ranges ranges = ranges_of(plot);
  const std::string head = plot.has_legend ? legend(plot) : "";
  if (plot.width <= kBroadFrom) return head + "<div>" + picture(plot, ranges) + "</div>";
  const std::string broad = picture(plot, ranges);
  plot.width = kNarrowWidth;
  plot.height = std::min(plot.height, kNarrowHeight);
  return head + broad_and_narrow(broad, picture(plot, ranges));
}

std::string svg_histogram(const std::vector<Bar>& bars, std::string_view x_unit,
                          std::string_view y_unit) {
  if (bars.empty()) return "<p class=none>No values.</p>";
  return broad_and_narrow(histogram(bars, x_unit, y_unit, 960),
                          histogram(bars, x_unit, y_unit, kNarrowWidth));
}

}  // namespace laird::plot
