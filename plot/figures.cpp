#include "plot/figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plot/svg_plot.hpp"

namespace laird::plot {
namespace {

constexpr double kWidth = 960;
constexpr double kNames = 190;  // room for the names on the left
constexpr double kRowHeight = 24;

std::string px(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

std::string open_svg(double height) {
  return "<svg viewBox=\"0 0 " + px(kWidth) + " " + px(height) + "\" role=img>";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=" + px(x1) + " y1=" + px(y1) + " x2=" + px(x2) + " y2=" + px(y2) + " style=\"" +
         style + "\" />";
}

std::string row_name(const std::string& name, double y, bool strong) {
  return "<text class=ty x=" + px(kNames - 10) + " y=" + px(y) +
         (strong ? " style=\"font-weight:700;fill:var(--fg)\">" : ">") + escaped(name) + "</text>";
}

}  // namespace

std::string svg_bars(const std::vector<NamedBar>& bars, std::string_view unit, double limit,
                     std::string_view limit_name) {
  if (bars.empty()) return "<p class=none>No values.</p>";
  double top = limit;
  for (const NamedBar& bar : bars) top = std::max(top, bar.value + bar.standard_error);
  if (!(top > 0.0)) top = 1.0;
  const double right = kWidth - 90;
  const auto x_of = [&](double v) { return kNames + (right - kNames) * v / top; };
  const double head = limit > 0.0 ? 20 : 4;
  const double height = head + kRowHeight * static_cast<double>(bars.size()) + 34;
  std::string out = open_svg(height);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const NamedBar& bar = bars[i];
    const double y = head + kRowHeight * static_cast<double>(i);
    out += row_name(bar.name, y + 16, bar.strong);
    out += "<rect x=" + px(kNames) + " y=" + px(y + 4) + " height=" + px(kRowHeight - 8) +
           " width=" + px(std::max(0.5, x_of(bar.value) - kNames)) + " rx=2 style=\"fill:var(--c" +
           (bar.strong ? "0" : "7") + ");opacity:.85\" />";
    const double middle = y + kRowHeight / 2;
    if (bar.standard_error > 0.0) {
      out +=
          line(x_of(bar.value - bar.standard_error), middle, x_of(bar.value + bar.standard_error),
               middle, "stroke:var(--fg);stroke-width:1.5");
    }
    out += "<text x=" + px(x_of(bar.value + bar.standard_error) + 8) + " y=" + px(y + 16) + ">" +
           short_number(bar.value) + "</text>";
  }
  const double bottom = height - 32;
  if (limit > 0.0) {
    out += line(x_of(limit), head - 4, x_of(limit), bottom,
                "stroke:var(--c2);stroke-width:1.5;stroke-dasharray:4 3");
    out += "<text class=tx x=" + px(x_of(limit)) + " y=" + px(12) + ">" + escaped(limit_name) +
           "</text>";
  }
  out += "<text x=" + px(kNames) + " y=" + px(height - 16) + " class=unit>" + escaped(unit) +
         "</text>";
  return out + "</svg>";
}

std::string svg_timeline(const Timeline& timeline) {
  const double right = kWidth - 12;
  const double until = timeline.until > 0.0 ? timeline.until : 1.0;
  const auto x_of = [&](double v) { return kNames + (right - kNames) * v / until; };
  const double bottom = 6 + kRowHeight * static_cast<double>(timeline.rows.size());
  std::string out = "<div class=wide>" + open_svg(bottom + 34);
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
    const double y = 6 + kRowHeight * static_cast<double>(i);
    out += "<rect x=" + px(kNames) + " y=" + px(y + 2) + " width=" + px(right - kNames) +
           " height=" + px(kRowHeight - 4) + " style=\"fill:var(--card)\" />";
    out += row_name(timeline.rows[i], y + 16, false);
  }
  for (const TimelineSpan& span : timeline.spans) {
    const double y = 6 + kRowHeight * static_cast<double>(span.row) + 2;
    const double full = kRowHeight - 4;
    const double tall = std::max(1.0, full * std::clamp(span.share, 0.0, 1.0));
    out += "<rect x=" + px(x_of(span.from)) + " y=" + px(y + full - tall) + " height=" + px(tall) +
           " width=" + px(std::max(0.6, x_of(span.to) - x_of(span.from))) +
           " style=\"fill:var(--c" + std::to_string(span.colour % kPlotColours) +
           ");opacity:.85\"><title>" + escaped(span.what) + "</title></rect>";
  }
  for (const TimelineMark& mark : timeline.marks) {
    const double y = 6 + kRowHeight * static_cast<double>(mark.row) + 2;
    const double x = x_of(mark.at);
    if (mark.good) {
      out += "<circle cx=" + px(x) + " cy=" + px(y + (kRowHeight - 4) / 2) +
             " r=5 style=\"fill:var(--c2);stroke:var(--bg);stroke-width:1.5\"><title>reached its "
             "target</title></circle>";
    } else {
      out += line(x, y, x, y + kRowHeight - 4, "stroke:var(--fg);stroke-width:2");
    }
  }
  for (const double moment : timeline.moments) {
    out += line(x_of(moment), 2, x_of(moment), bottom,
                "stroke:var(--fg);stroke-dasharray:2 3;opacity:.7");
  }
  const double step = nice_step(until, 8);
  for (double v = 0.0; v <= until * 1.0001; v += step) {
    out += line(x_of(v), bottom, x_of(v), bottom + 4, "stroke:var(--soft)");
    out += "<text class=tx x=" + px(x_of(v)) + " y=" + px(bottom + 17) + ">" +
           std::to_string(static_cast<long long>(std::llround(v))) + "</text>";
  }
  out += "<text class=ty x=" + px(right) + " y=" + px(bottom + 32) + ">" +
         escaped(timeline.x_unit) + "</text>";
  return out + "</svg></div>";
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=scroll><table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (const std::string& cell : rows[r]) {
      out += r == 0 ? "<th>" + escaped(cell) + "</th>" : "<td>" + escaped(cell) + "</td>";
    }
    out += "</tr>";
  }
  return out + "</table></div>";
}

}  // namespace laird::plot
