#include "plot/figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plot/svg_plot.hpp"

namespace laird::plot {
namespace {

// Names stand on the left of their rows; on a narrow screen above them.
struct Layout {
  double width = 960;
  double names = 190;  // room on the left
  double row = 24;     // height of a bar, and of what stands above it
  double above = 0;    // of that, the name's
  int ticks = 8;
};
constexpr Layout kBroad;
constexpr Layout kNarrow{kNarrowWidth, 4, 40, 16, 4};
constexpr double kBarHeight = 24;

std::string px(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", v);
  return text;
}

std::string open_svg(double width, double height) {
  return "<svg viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=img>";
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return "<line x1=" + px(x1) + " y1=" + px(y1) + " x2=" + px(x2) + " y2=" + px(y2) + " style=\"" +
         style + "\" />";
}

// `y` is the top of the row.
std::string row_name(const std::string& name, double y, bool strong, const Layout& at) {
  const bool is_above = at.above > 0;
  return std::string("<text") + (is_above ? "" : " class=ty") +
         " x=" + px(is_above ? at.names : at.names - 10) + " y=" + px(y + (is_above ? 13 : 16)) +
         (strong ? " style=\"font-weight:700;fill:var(--fg)\">" : ">") + escaped(name) + "</text>";
}

std::string bars_picture(const std::vector<NamedBar>& bars, std::string_view unit, double limit,
                         std::string_view limit_name, const Layout& at) {
  double top = limit;
  for (const NamedBar& bar : bars) top = std::max(top, bar.value + bar.standard_error);
  if (!(top > 0.0)) top = 1.0;
  const double right = at.width - (at.above > 0 ? 60 : 90);
  const auto x_of = [&](double v) { return at.names + (right - at.names) * v / top; };
  const double head = limit > 0.0 ? 20 : 4;
  const double height = head + at.row * static_cast<double>(bars.size()) + 34;
  std::string out = open_svg(at.width, height);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const NamedBar& bar = bars[i];
    const double row = head + at.row * static_cast<double>(i);
    out += row_name(bar.name, row, bar.strong, at);
    const double y = row + at.above;
    out += "<rect x=" + px(at.names) + " y=" + px(y + 4) + " height=" + px(kBarHeight - 8) +
           " width=" + px(std::max(0.5, x_of(bar.value) - at.names)) +
           " rx=2 style=\"fill:var(--c" + (bar.strong ? "0" : "7") + ");opacity:.85\" />";
    const double middle = y + kBarHeight / 2;
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
  out += "<text x=" + px(at.names) + " y=" + px(height - 16) + " class=unit>" + escaped(unit) +
         "</text>";
  return out + "</svg>";
}

// Where a timeline's instants and rows lie.
struct TimelinePlace {
  const Layout& at;
  double until;
  [[nodiscard]] double right() const { return at.width - 12; }
  [[nodiscard]] double x(double v) const { return at.names + (right() - at.names) * v / until; }
  [[nodiscard]] double row(std::size_t i) const { return 6 + at.row * static_cast<double>(i); }
  [[nodiscard]] double bar(std::size_t i) const { return row(i) + at.above + 2; }
};

std::string span_rect(const TimelineSpan& span, const TimelinePlace& place) {
  const double full = kBarHeight - 4;
  const double tall = std::max(1.0, full * std::clamp(span.share, 0.0, 1.0));
  return "<rect x=" + px(place.x(span.from)) + " y=" + px(place.bar(span.row) + full - tall) +
         " height=" + px(tall) +
         " width=" + px(std::max(0.6, place.x(span.to) - place.x(span.from))) +
         " style=\"fill:" + colour_of(span.colour) + ";opacity:.85\"><title>" + escaped(span.what) +
         "</title></rect>";
}

std::string mark_sign(const TimelineMark& mark, const TimelinePlace& place) {
  const double y = place.bar(mark.row);
  const double x = place.x(mark.at);
  if (!mark.good) return line(x, y, x, y + kBarHeight - 4, "stroke:var(--fg);stroke-width:2");
  return "<circle cx=" + px(x) + " cy=" + px(y + (kBarHeight - 4) / 2) +
         " r=5 style=\"fill:var(--c2);stroke:var(--bg);stroke-width:1.5\"><title>reached its "
         "target</title></circle>";
}

std::string timeline_picture(const Timeline& timeline, const Layout& at) {
  const TimelinePlace place{at, timeline.until > 0.0 ? timeline.until : 1.0};
  const double bottom = place.row(timeline.rows.size());
  std::string out = open_svg(at.width, bottom + 34);
  for (std::size_t i = 0; i < timeline.rows.size(); ++i) {
    out += "<rect x=" + px(at.names) + " y=" + px(place.bar(i)) +
           " width=" + px(place.right() - at.names) + " height=" + px(kBarHeight - 4) +
           " style=\"fill:var(--card)\" />";
    out += row_name(timeline.rows[i], place.row(i), false, at);
  }
  for (const TimelineSpan& span : timeline.spans) out += span_rect(span, place);
  for (const TimelineMark& mark : timeline.marks) out += mark_sign(mark, place);
  for (const double moment : timeline.moments) {
    out += line(place.x(moment), 2, place.x(moment), bottom,
                "stroke:var(--fg);stroke-dasharray:2 3;opacity:.7");
  }
  const double step = nice_step(place.until, at.ticks);
  for (double v = 0.0; v <= place.until * 1.0001; v += step) {
    out += line(place.x(v), bottom, place.x(v), bottom + 4, "stroke:var(--soft)");
    out += "<text class=tx x=" + px(place.x(v)) + " y=" + px(bottom + 17) + ">" +
           std::to_string(static_cast<long long>(std::llround(v))) + "</text>";
  }
  out += "<text class=ty x=" + px(place.right()) + " y=" + px(bottom + 32) + ">" +
         escaped(timeline.x_unit) + "</text>";
  return out + "</svg>";
}

}  // namespace

std::string svg_bars(const std::vector<NamedBar>& bars, std::string_view unit, double limit,
                     std::string_view limit_name) {
  if (bars.empty()) return "<p class=none>No values.</p>";
  return broad_and_narrow(bars_picture(bars, unit, limit, limit_name, kBroad),
                          bars_picture(bars, unit, limit, limit_name, kNarrow));
}

std::string svg_timeline(const Timeline& timeline) {
  return broad_and_narrow(timeline_picture(timeline, kBroad), timeline_picture(timeline, kNarrow));
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string out = "<div class=scroll><table>";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const std::string text = escaped(rows[r][c]);
      // On a narrow screen a row becomes a card, in which each value stands beside its head.
      const std::string head = c < rows.front().size() ? escaped(rows.front()[c]) : "";
      out += r == 0 ? "<th>" + text + "</th>" : "<td data-head=\"" + head + "\">" + text + "</td>";
    }
    out += "</tr>";
  }
  return out + "</table></div>";
}

}  // namespace laird::plot
