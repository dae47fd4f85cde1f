#include "lab/ledger/page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace laird::lab {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 260;
constexpr double kMargin = 60;

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", v);
  return text;
}

}  // namespace

std::string line_chart(const std::string& title, const std::vector<std::vector<double>>& series,
                       bool log_scale) {
  double low = 1e300;
  double high = -1e300;
  std::size_t length = 2;
  const auto scaled = [&](double v) { return log_scale ? std::log10(v) : v; };
  for (const auto& s : series) {
    length = std::max(length, s.size());
    for (const double v : s) {
      if (log_scale && v <= 0) continue;
      low = std::min(low, scaled(v));
      high = std::max(high, scaled(v));
    }
  }
  if (low > high) return "<p>" + title + ": nothing to draw</p>\n";
  if (high - low < 1e-12) high = low + 1;
  const auto x_of = [&](std::size_t i) {
    return kMargin +
           (kWidth - 2 * kMargin) * static_cast<double>(i) / static_cast<double>(length - 1);
  };
  const auto y_of = [&](double v) {
    return kHeight - 30 - (kHeight - 60) * (scaled(v) - low) / (high - low);
  };
  std::string out = "<h2>" + title + "</h2>\n<svg viewBox='0 0 720 260' width='720'>\n";
  for (int k = 0; k <= 4; ++k) {
    const double at = low + (high - low) * k / 4;
    const std::string y = number(kHeight - 30 - (kHeight - 60) * k / 4);
    out += "<line x1='60' x2='660' y1='" + y + "' y2='" + y + "' stroke='#ddd'/><text x='4' y='" +
           y + "' font-size='11'>" + number(log_scale ? std::pow(10.0, at) : at) + "</text>\n";
  }
  for (const auto& s : series) {
    out += "<polyline fill='none' stroke='#27c' stroke-opacity='0.5' points='";
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (log_scale && s[i] <= 0) continue;
      out += number(x_of(i)) + "," + number(y_of(s[i])) + " ";
    }
    out += "'/>\n";
  }
  return out + "<text x='330' y='255' font-size='11'>tick 1 to " + std::to_string(length) +
         "</text></svg>\n";
}

std::string ledger_page(const ConvergenceConfig& config,
                        const std::vector<ConvergenceResult>& runs) {
  std::vector<std::vector<double>> gaps;
  std::vector<std::vector<double>> use;
  std::vector<std::vector<double>> bytes;
  for (const ConvergenceResult& r : runs) {
    gaps.push_back(r.gaps);
    use.push_back(r.in_use);
    bytes.push_back(r.bytes);
  }
  std::string out =
      "<!doctype html><meta charset='utf-8'><title>Share ledger</title>\n"
      "<style>body{font-family:sans-serif;max-width:760px;margin:2em auto}</style>\n"
      "<h1>Share ledger: " +
      std::to_string(config.nodes) + " boards, " + std::to_string(runs.size()) +
      " runs</h1>\n<p>Loss " + number(config.network.loss) + ", repeats " +
      number(config.network.duplicate) + ", delay " + std::to_string(config.network.delay_min) +
      " to " + std::to_string(config.network.delay_max) + " ticks.</p>\n";
  out += line_chart("Gap to the optimum, relative cost", gaps, true);
  out += line_chart("Budget in use (1 is all of it; above 1 never)", use, false);
  out += line_chart("Payload sent per board, bytes", bytes, false);
  return out;
}

}  // namespace laird::lab
