#include "lab/forecast/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "lab/forecast/evaluate.hpp"

namespace laird::lab {

namespace {

constexpr double kWidth = 360.0;
constexpr double kHeight = 230.0;
constexpr double kLeft = 46.0;
constexpr double kRight = 10.0;
constexpr double kTop = 12.0;
constexpr double kBottom = 26.0;
constexpr int kForecastPoints = 24;

struct Origin {
  double share;
  const char* colour;
  const char* label;
};
constexpr std::array<Origin, 3> kOrigins = {{{0.02, "#c2410c", "from 2% of the reports"},
                                             {0.10, "#0369a1", "from 10%"},
                                             {0.30, "#15803d", "from 30%"}}};

[[nodiscard]] std::string format(const char* pattern, double a, double b = 0.0) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, a, b);
  return text;
}

[[nodiscard]] std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Log-log axes of one chart; x is samples + one interval, so that a report at 0 has a place.
struct Axes {
  double offset;
  double x_low, x_high;
  double y_low, y_high;

  [[nodiscard]] double x(double samples) const {
    const double u = std::log(samples + offset);
    return kLeft + (u - x_low) / (x_high - x_low) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double loss) const {
    const double v = std::clamp((std::log(loss) - y_low) / (y_high - y_low), -0.02, 1.02);
    return kHeight - kBottom - v * (kHeight - kTop - kBottom);
  }
  [[nodiscard]] std::string at(double samples, double loss) const {
    return format("%.1f,%.1f ", x(samples), y(loss));
  }
};

[[nodiscard]] Axes axes_of(const Curve& curve) {
  Axes axes{};
  axes.offset = std::max(1e-9, curve.samples[1] - curve.samples[0]);
  axes.x_low = std::log(curve.samples.front() + axes.offset);
  axes.x_high = std::max(axes.x_low + 1e-6, std::log(curve.samples.back() + axes.offset));
  const auto [low, high] = std::minmax_element(curve.loss.begin(), curve.loss.end());
  const double margin = 0.12 * (std::log(*high / *low) + 0.1);
  // Room below: forecasts that are too low are what one looks for.
  axes.y_low = std::log(*low) - 3.0 * margin;
  axes.y_high = std::log(*high) + margin;
  return axes;
}

[[nodiscard]] std::string tick_label(double value) {
  if (value >= 1e6 || (value < 0.01 && value > 0.0)) return format("%.0e", value);
  return format("%g", value);
}

[[nodiscard]] std::string grid(const Axes& axes) {
  std::string svg;
  const double y_bottom = kHeight - kBottom;
  // One, two and five of each decade, but not more than fit.
  const double decades = (axes.y_high - axes.y_low) / std::log(10.0);
  for (int e = -12; e <= 12; ++e) {
    for (const double m : {1.0, 2.0, 5.0}) {
      if (m != 1.0 && decades > 1.6) continue;
      const double value = m * std::pow(10.0, e);
      if (std::log(value) <= axes.y_low || std::log(value) >= axes.y_high) continue;
      svg += format("<line class=g x1='%.0f' x2='%.0f' ", kLeft, kWidth - kRight);
      svg += format("y1='%.1f' y2='%.1f'/>", axes.y(value), axes.y(value));
      svg += format("<text x='%.0f' y='%.1f' text-anchor=end>", kLeft - 4, axes.y(value) + 3.5);
      svg += tick_label(value) + "</text>";
    }
    const double samples = std::pow(10.0, e);
    const double u = std::log(samples + axes.offset);
    if (u < axes.x_low || u > axes.x_high || samples < 1.0) continue;
    if (axes.x(samples) < kLeft + 8.0) continue;
    svg += format("<line class=g x1='%.1f' x2='%.1f' ", axes.x(samples), axes.x(samples));
    svg += format("y1='%.0f' y2='%.0f'/>", kTop, y_bottom);
    svg += format("<text x='%.1f' y='%.0f' text-anchor=middle>", axes.x(samples), y_bottom + 14);
    svg += tick_label(samples) + "</text>";
  }
  return svg;
}

[[nodiscard]] std::string forecast_shape(const Curve& curve, const Axes& axes,
                                         const Origin& origin) {
  const std::size_t used = std::max(kPointsMin, points_of(curve, origin.share));
  if (used + 2 >= curve.samples.size()) return {};
  estimators::Forecaster forecaster(untuned_on(curve.source));
  for (std::size_t i = 0; i < used; ++i) forecaster.observe(curve.samples[i], curve.loss[i]);
  const double from = std::log(curve.samples[used - 1] + axes.offset);
  std::string upper;
  std::string lower;
  std::string middle;
  for (int i = 0; i <= kForecastPoints; ++i) {
    const double u = from + (axes.x_high - from) * i / kForecastPoints;
    const double samples = std::exp(u) - axes.offset;
    const auto f = forecaster.loss_at(samples);
    if (!f) return {};
    upper += axes.at(samples, f->high);
    lower = axes.at(samples, f->low) + lower;
    middle += axes.at(samples, f->loss);
  }
  const std::string colour = origin.colour;
  std::string svg = "<polygon fill='" + colour + "' opacity='.13' points='" + upper + lower + "'/>";
  svg += "<polyline fill=none stroke='" + colour + "' stroke-width=1.8 points='" + middle + "'/>";
  svg += format("<circle r=3 cx='%.1f' cy='%.1f' ", axes.x(curve.samples[used - 1]),
                axes.y(curve.loss[used - 1]));
  return svg + "fill='" + colour + "'/>";
}

[[nodiscard]] std::string chart(const Curve& curve) {
  const Axes axes = axes_of(curve);
  std::string svg = "<figure><figcaption>" + escaped(curve.name) + "</figcaption>";
  svg += format("<svg viewBox='0 0 %.0f %.0f' role=img>", kWidth, kHeight);
  svg += "<title>" + escaped(curve.name) + ": loss against samples, with forecasts</title>";
  svg += grid(axes);
  std::string reports;
  for (std::size_t i = 0; i < curve.samples.size(); ++i) {
    reports += axes.at(curve.samples[i], curve.loss[i]);
  }
  for (const Origin& origin : kOrigins) svg += forecast_shape(curve, axes, origin);
  svg += "<polyline class=c points='" + reports + "'/>";
  return svg + "</svg></figure>\n";
}

constexpr const char* kHead =
    "<!doctype html><html lang=en><meta charset=utf-8><title>laird: forecasts of learning curves"
    "</title><meta name=viewport content='width=device-width'><style>"
    "body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:1200px;padding:0 1rem;"
    "color:#1c1917;background:#fff}h1{font-size:1.5rem;margin:0 0 .3rem}"
    "h2{font-size:1.05rem;margin:2rem 0 .5rem;border-bottom:1px solid #d6d3d1}"
    "p{max-width:46rem}.all{display:grid;grid-template-columns:repeat(auto-fill,minmax(330px,1fr));"
    "gap:1rem}figure{margin:0}figcaption{font-size:.82rem;color:#44403c}svg{width:100%;height:auto}"
    "svg text{font-size:10px;fill:#57534e}.g{stroke:#e7e5e4}"
    ".c{fill:none;stroke:#1c1917;stroke-width:1.1}"
    ".k{display:inline-block;width:1.6em;height:.5em;margin:0 .35em 0 1em;border-radius:2px}"
    "</style>\n";

}  // namespace

std::string draw_page(const std::vector<Curve>& curves) {
  std::string page = kHead;
  page +=
      "<h1>Forecasts of learning curves</h1><p>Loss (vertical) against samples (horizontal), both "
      "logarithmic. Black: what the training run reported. Colour: the forecast made at the dot "
      "with its 90% band, by constants tuned without the curve's source. A good forecaster's "
      "line follows the black one, and nine ends of ten lie in the band.</p><p>";
  for (const Origin& origin : kOrigins) {
    page += std::string("<span class=k style='background:") + origin.colour + "'></span>" +
            origin.label;
  }
  page += "</p>\n";
  std::vector<const Curve*> sorted;
  sorted.reserve(curves.size());
  for (const Curve& curve : curves) sorted.push_back(&curve);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Curve* a, const Curve* b) { return a->source < b->source; });
  const std::string* source = nullptr;
  for (const Curve* curve : sorted) {
    if (source == nullptr || *source != curve->source) {
      if (source != nullptr) page += "</div>\n";
      source = &curve->source;
      page +=
          "<h2>" + escaped(source->empty() ? "unknown source" : *source) + "</h2><div class=all>\n";
    }
    page += chart(*curve);
  }
  return page + "</div></html>\n";
}

}  // namespace laird::lab
