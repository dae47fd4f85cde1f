#include "plot/svg_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace laird::power {
namespace {

constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 24;  // room for the unit above the axis
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

  [[nodiscard]] double at(double v) const { return from + (v - low) / (high - low) * (to - from); }
};

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
  for (double v = y.low; v <= y.high + y.step * 1e-6; v += y.step) {
    out += "<line class=grid x1=" + px(x.from) + " x2=" + px(x.to) + " y1=" + px(y.at(v)) +
           " y2=" + px(y.at(v)) + " />";
    out += "<text class=ty x=" + px(x.from - 8) + " y=" + px(y.at(v) + 4) + ">" +
           tick_text(v, y.step) + "</text>";
  }
  for (double v = std::ceil(x.low / x.step) * x.step; v <= x.high + x.step * 1e-6; v += x.step) {
    out += "<line class=tick x1=" + px(x.at(v)) + " x2=" + px(x.at(v)) + " y1=" + px(y.from) +
           " y2=" + px(y.from + 4) + " />";
    out += "<text class=tx x=" + px(x.at(v)) + " y=" + px(y.from + 17) + ">" +
           tick_text(v, x.step) + "</text>";
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

// Names stand above the axes, those too close to the one before in a second row.
std::string mark_lines(const std::vector<PlotMark>& marks, const Axis& x, const Axis& y) {
  constexpr double kLetter = 6.2;
  std::string out;
  double row_end[2] = {-1e9, -1e9};
  for (const PlotMark& mark : marks) {
    if (mark.x < x.low || mark.x > x.high) continue;
    const double at = x.at(mark.x);
    const double wide = kLetter * static_cast<double>(mark.text.size());
    const bool left = at + wide > x.to;  // no room on its right
    const double begin = left ? at - wide : at;
    const int row = begin < row_end[0] + 8 ? 1 : 0;
    row_end[row] = begin + wide;
    const double text_y = y.to - 3 - 12 * row;
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
    out += "<span><i style=\"background:var(--c" + std::to_string(s.colour % kPlotColours) +
           ")\"></i>" + escaped(s.name) + "</span>";
  }
  return out + "</div>";
}

std::string open_svg(double width, double height) {
  return "<svg viewBox=\"0 0 " + px(width) + " " + px(height) + "\" role=img>";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // Control bytes have no place in a page.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

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

std::string svg_lines(const Plot& plot) {
  double x_low = std::numeric_limits<double>::infinity(), x_high = -x_low;
  double y_low = x_low, y_high = -x_low;
  for (const PlotSeries& s : plot.series) {
    for (const PlotPoint& p : s.points) {
      x_low = std::min(x_low, p.x);
      x_high = std::max(x_high, p.x);
      y_low = std::min(y_low, s.strong || s.filled ? p.low : p.mean);
      y_high = std::max(y_high, s.strong || s.filled ? p.high : p.mean);
    }
  }
  if (!(x_high >= x_low)) return "<p class=none>No values.</p>";
  if (plot.x_to > plot.x_from) {
    x_low = std::min(x_low, plot.x_from);
    x_high = std::max(x_high, plot.x_to);
  }
  if (plot.from_zero) y_low = std::min(0.0, y_low);
  // A first point just after zero must not cost the axis its zero.
  if (x_low > 0 && x_low < 0.02 * x_high) x_low = 0;
  Axis x = make_axis(x_low, x_high, 8, false);
  Axis y = make_axis(y_low, y_high, 5, true);
  x.from = kLeft;
  x.to = plot.width - kRight;
  y.from = plot.height - kBottom;
  y.to = kTop;
  // A wide picture on a narrow screen is moved under the finger, not made too small to read.
  std::string out = legend(plot) + (plot.width > 700 ? "<div class=wide>" : "<div>") +
                    open_svg(plot.width, plot.height);
  out += frame(x, y, plot.x_unit, plot.y_unit);
  for (const PlotSeries& s : plot.series) {
    const std::string colour = "var(--c" + std::to_string(s.colour % kPlotColours) + ")";
    if (s.filled) {
      out += "<path class=area style=\"fill:" + colour + "\" d=\"" +
             band_path(s, x, y, plot.gap_x) + "\"><title>" + escaped(s.name) + "</title></path>";
      continue;
    }
    if (s.strong) {
      out += "<path class=band style=\"fill:" + colour + "\" d=\"" +
             band_path(s, x, y, plot.gap_x) + "\"/>";
    }
    out += "<path class=\"line" + std::string(s.strong ? " strong" : "") +
           (s.dashed ? " dashed" : "") + "\" style=\"stroke:" + colour + "\" d=\"" +
           line_path(s, x, y, plot.gap_x) + "\"><title>" + escaped(s.name) + "</title></path>";
  }
  return out + mark_lines(plot.marks, x, y) + "</svg></div>";
}

std::string svg_histogram(const std::vector<Bar>& bars, std::string_view x_unit,
                          std::string_view y_unit) {
  if (bars.empty()) return "<p class=none>No values.</p>";
  double top = 0;
  for (const Bar& bar : bars) top = std::max(top, bar.value);
  Axis x = make_axis(bars.front().from, bars.back().to, 8, false);
  Axis y = make_axis(0, top, 4, true);
  x.from = kLeft;
  x.to = 960 - kRight;
  y.from = 220 - kBottom;
  y.to = kTop;
  std::string out = open_svg(960, 220) + frame(x, y, x_unit, y_unit);
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

std::string page(std::string_view title, std::string_view body) {
  static constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2430;--soft:#5c6675;--line:#e3e7ee;--card:#f6f8fb;
--c0:#2f6fde;--c1:#e07b2e;--c2:#1f9d6b;--c3:#c0447c;--c4:#7d5bd0;--c5:#a98600;--c6:#1f9fb5;--c7:#75808f}
@media(prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e7ebf1;--soft:#98a3b3;--line:#2a313c;
--card:#1a2029;--c0:#6ea3ff;--c1:#f2a05f;--c2:#4fcf9a;--c3:#ec7fb0;--c4:#ab90f2;--c5:#d8b83a;
--c6:#56cbdf;--c7:#a3adba}}
*{box-sizing:border-box}
body{margin:0 auto;padding:28px 20px 60px;max-width:1040px;background:var(--bg);color:var(--fg);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:24px;margin:0 0 2px}h2{font-size:17px;margin:34px 0 8px}
p{margin:6px 0;color:var(--soft)}p.lead{margin-bottom:18px}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(118px,1fr));gap:10px;margin:16px 0}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
.card b{display:block;font-size:21px;font-weight:650;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:13px}
svg{width:100%;height:auto;display:block;overflow:visible}
svg text{fill:var(--soft);font-size:11.5px;font-variant-numeric:tabular-nums}
.ty{text-anchor:end}.tx{text-anchor:middle}.unit{font-weight:600}
.grid{stroke:var(--line);stroke-width:1}.tick{stroke:var(--soft);stroke-width:1}
.line{fill:none;stroke-width:1.3;stroke-linejoin:round}.line.strong{stroke-width:1.9}
.line.dashed{stroke-dasharray:5 4}.band{opacity:.16}.area{opacity:.72}
line.mark{stroke:var(--fg);stroke-width:1;stroke-dasharray:2 3;opacity:.7}svg text.mark{fill:var(--fg)}
.bar{fill:var(--c0);opacity:.8}
.legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:2px 0 6px 56px;font-size:13px;color:var(--soft)}
.legend i{display:inline-block;width:14px;height:3px;border-radius:2px;margin-right:6px;vertical-align:middle}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line)}
td{white-space:nowrap}th{color:var(--soft);font-weight:600;font-size:13px}
th:first-child,td:first-child{text-align:left;padding-left:0}
.ok{color:var(--c2)}.bad{color:var(--c1);font-weight:600}
.scroll,.wide{overflow-x:auto}.wide svg{min-width:680px}
)css";
  std::string out = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport ";
  out +=
      "content=\"width=device-width,initial-scale=1\"><title>" + escaped(title) + "</title><style>";
  out += kStyle;
  out += "</style><body>";
  out += body;
  return out + "</body></html>\n";
}

}  // namespace laird::power
