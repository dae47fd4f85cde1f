#include "lab/forecast/page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "lab/forecast/evaluate.hpp"
#include "plot/svg_plot.hpp"

namespace laird::lab {

namespace {

constexpr int kForecastPoints = 24;
constexpr int kReportedColour = 7;

struct Origin {
  double share;
  int colour;
  const char* label;
};
constexpr std::array<Origin, 3> kOrigins = {
    {{0.02, 1, "forecast from 2% of the reports"}, {0.10, 0, "from 10%"}, {0.30, 2, "from 30%"}}};

// From the last report used to the end of the curve, with its band.
[[nodiscard]] std::optional<plot::PlotSeries> forecast_from(const Curve& curve,
                                                            const Origin& origin, double offset) {
  const std::size_t used = std::max(kPointsMin, points_of(curve, origin.share));
  if (used + 2 >= curve.samples.size()) return std::nullopt;
  estimators::Forecaster forecaster(untuned_on(curve.source));
  for (std::size_t i = 0; i < used; ++i) forecaster.observe(curve.samples[i], curve.loss[i]);
  const double from = std::log(curve.samples[used - 1] + offset);
  const double to = std::log(curve.samples.back() + offset);
  plot::PlotSeries out;
  out.name = origin.label;
  out.colour = origin.colour;
  out.strong = true;
  out.dot = true;
  for (int i = 0; i <= kForecastPoints; ++i) {
    const double samples = std::exp(from + (to - from) * i / kForecastPoints) - offset;
    const auto f = forecaster.loss_at(samples);
    if (!f) return std::nullopt;
    out.points.push_back({samples, f->low, f->high, f->loss});
  }
  return out;
}

[[nodiscard]] std::string chart(const Curve& curve) {
  plot::Plot picture;
  picture.x_unit = "samples";
  picture.y_unit = "loss";
  picture.width = 380;
  picture.height = 250;
  picture.has_legend = false;
  picture.x_log = true;
  picture.y_log = true;
  // One interval, so that a report at 0 has a place.
  picture.x_log_offset = std::max(1e-9, curve.samples[1] - curve.samples[0]);
  const auto [low, high] = std::minmax_element(curve.loss.begin(), curve.loss.end());
  const double margin = 0.12 * (std::log(*high / *low) + 0.1);
  // Room below: forecasts that are too low are what one looks for.
  picture.y_from = *low * std::exp(-3.0 * margin);
  picture.y_to = *high * std::exp(margin);
  for (const Origin& origin : kOrigins) {
    if (auto series = forecast_from(curve, origin, picture.x_log_offset)) {
      picture.series.push_back(std::move(*series));
    }
  }
  plot::PlotSeries reported;
  reported.name = "reported";
  reported.colour = kReportedColour;
  for (std::size_t i = 0; i < curve.samples.size(); ++i) {
    reported.points.push_back({curve.samples[i], curve.loss[i], curve.loss[i], curve.loss[i]});
  }
  picture.series.push_back(std::move(reported));
  return "<figure><figcaption>" + plot::escaped(curve.name) + "</figcaption>" + svg_lines(picture) +
         "</figure>\n";
}

[[nodiscard]] std::string legend() {
  const auto entry = [](int colour, const char* label) {
    return "<span><i style=\"background:var(--c" + std::to_string(colour) + ")\"></i>" + label +
           "</span>";
  };
  std::string out = "<div class=legend style=\"margin-left:0\">" +
                    entry(kReportedColour, "what the training run reported");
  for (const Origin& origin : kOrigins) out += entry(origin.colour, origin.label);
  return out + "</div>\n";
}

}  // namespace

std::string draw_page(const std::vector<Curve>& curves) {
  std::string body =
      "<h1>Forecasts of learning curves</h1><p>Loss (vertical) against samples (horizontal), both "
      "logarithmic. Grey: what the training run reported. Colour: the forecast made at the dot "
      "with its 90% band, by constants tuned without the curve's source. A good forecaster's "
      "line follows the grey one, and nine ends of ten lie in the band.</p>" +
      legend();
  std::vector<const Curve*> sorted;
  sorted.reserve(curves.size());
  for (const Curve& curve : curves) sorted.push_back(&curve);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Curve* a, const Curve* b) { return a->source < b->source; });
  const std::string* source = nullptr;
  for (const Curve* curve : sorted) {
    if (source == nullptr || *source != curve->source) {
      if (source != nullptr) body += "</div>\n";
      source = &curve->source;
      body += "<h2>" + plot::escaped(source->empty() ? "unknown source" : *source) +
              "</h2><div class=tiles>\n";
    }
    body += chart(*curve);
  }
  return plot::page("laird: forecasts of learning curves", body + "</div>");
}

}  // namespace laird::lab
