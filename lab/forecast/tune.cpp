#include "lab/forecast/tune.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "config/schema.hpp"
#include "lab/forecast/boost.hpp"
#include "lab/forecast/evaluate.hpp"
#include "lab/forecast/reach.hpp"

namespace laird::lab {

namespace {

using estimators::BandConstants;
using estimators::ForecastConstants;
using estimators::Forecaster;
using Point = std::vector<double>;

constexpr double kBandLevel = 0.05;
constexpr double kPull = 0.002;  // weight of the squared distance from the round numbers
constexpr int kIterations = 80;
constexpr int kQuestionsPerCurve = 160;
constexpr std::uint64_t kSeed = 20;  // of the questions; the judged ones are drawn with others
constexpr BandConstants kRoundBand = {0.1, 2.0, 0.15, 1.5, 1.0};

[[nodiscard]] Point nelder_mead(const std::function<double(const Point&)>& f, const Point& start,
                                double size, int iterations) {
  const std::size_t n = start.size();
  std::vector<std::pair<double, Point>> simplex;
  simplex.emplace_back(f(start), start);
  for (std::size_t i = 0; i < n; ++i) {
    Point p = start;
    p[i] += size;
    simplex.emplace_back(f(p), p);
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (int it = 0; it < iterations; ++it) {
    std::stable_sort(simplex.begin(), simplex.end(), by_value);
    Point centre(n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) centre[j] += simplex[i].second[j] / double(n);
    }
    auto& worst = simplex.back();
    const auto along = [&](double t) {
      Point p(n);
      for (std::size_t j = 0; j < n; ++j) p[j] = centre[j] + t * (worst.second[j] - centre[j]);
      return p;
    };
    const Point reflected = along(-1.0);
    const double value = f(reflected);
    if (value < simplex.front().first) {
      const Point further = along(-2.0);
      const double better = f(further);
      worst = better < value ? std::pair(better, further) : std::pair(value, reflected);
    } else if (value < simplex[n - 1].first) {
      worst = {value, reflected};
    } else {
      const Point inner = along(value < worst.first ? -0.5 : 0.5);
      const double inside = f(inner);
      if (inside < std::min(value, worst.first)) {
        worst = {inside, inner};
        continue;
      }
      for (std::size_t i = 1; i <= n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          simplex[i].second[j] =
              simplex[0].second[j] + 0.5 * (simplex[i].second[j] - simplex[0].second[j]);
        }
        simplex[i].first = f(simplex[i].second);
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), by_value)->second;
}

// What the band is learned from: where the forecast stood, and how far off it was.
struct Miss {
  Forecaster::Spread spread;
  double off = 0.0;  // ln(true / forecast)
  double weight = 1.0;
};

// Divides by the square root of the source's share.
template <class T>
void balance(std::vector<T>& rows, const std::vector<const std::string*>& sources) {
  std::map<std::string, double> of_source;
  for (std::size_t i = 0; i < rows.size(); ++i) of_source[*sources[i]] += rows[i].weight;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].weight /= std::sqrt(of_source[*sources[i]]);
  }
}

void collect_misses(const Curve& curve, std::vector<Miss>& out) {
  constexpr std::array<double, 11> kStarts = {.01, .015, .02, .03, .05, .07,
                                              .10, .15,  .20, .30, .45};
  constexpr std::array<double, 4> kEnds = {1.0, 0.25, 0.5, 0.75};
  const std::size_t n = curve.samples.size();
  Forecaster forecaster;
  std::size_t seen = 0;
  for (const double share : kStarts) {
    const std::size_t points = points_of(curve, share);
    const std::size_t used = std::min(n - 1, std::max(points, kPointsMin));
    for (; seen < used; ++seen) forecaster.observe(curve.samples[seen], curve.loss[seen]);
    for (const double part : kEnds) {
      const std::size_t end = std::min(n - 1, points_of(curve, part));
      if (end <= used + 1 && part < 1.0) continue;
      const auto spread = forecaster.spread_at(curve.samples[end]);
      const double weight = (part == 1.0 ? 1.0 : 0.5) * (points < kPointsMin ? 0.5 : 1.0);
      out.push_back({spread, std::log(curve.loss[end]) - spread.location, weight});
    }
  }
}

void collect_rows(const Curve& curve, SplitMix64& random, std::vector<ReachRow>& out) {
  draw_questions(curve, kQuestionsPerCurve, true, random, [&](Deadline, const ReachQuestion& q) {
    Forecaster forecaster;
    for (std::size_t i = 0; i < q.used; ++i) forecaster.observe(curve.samples[i], curve.loss[i]);
    if (!(q.samples > forecaster.samples())) return;
    out.push_back(
        {forecaster.reach_features(q.target, q.samples, q.planned, q.allowed), 1.0, q.came_true});
  });
}

[[nodiscard]] BandConstants band_at(const Point& x) {
  const auto moved = [](double round, double by) { return round * std::exp(by); };
  return {moved(kRoundBand.level, x[0]), moved(kRoundBand.noise, x[1]),
          moved(kRoundBand.distance, x[2]), moved(kRoundBand.trend, x[3]),
          moved(kRoundBand.bend, x[4])};
}

// `sign` +1 for the upper side, -1 for the lower one.
[[nodiscard]] BandConstants fit_band(const std::vector<Miss>& misses, double sign) {
  double weights = 0.0;
  for (const Miss& miss : misses) weights += miss.weight;
  const auto loss = [&](const Point& x) {
    const BandConstants c = band_at(x);
    double sum = 0.0;
    for (const Miss& miss : misses) {
      const double beyond = sign * miss.off - estimators::width(c, miss.spread);
      sum += miss.weight * (beyond > 0.0 ? 1.0 - kBandLevel : -kBandLevel) * beyond;
    }
    double squares = 0.0;
    for (const double v : x) squares += v * v;
    return sum / weights + kPull * squares;
  };
  Point best(5, 0.0);
  best = nelder_mead(loss, best, 1.0, kIterations);
  best = nelder_mead(loss, best, -0.5, kIterations);
  return band_at(best);
}

[[nodiscard]] std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", v);
  return text;
}

[[nodiscard]] double rounded(double v) { return std::strtod(number(v).c_str(), nullptr); }

[[nodiscard]] BandConstants rounded(const BandConstants& c) {
  return {rounded(c.level), rounded(c.noise), rounded(c.distance), rounded(c.trend),
          rounded(c.bend)};
}

[[nodiscard]] std::string text_of(const BandConstants& c) {
  return "{" + number(c.level) + ", " + number(c.noise) + ", " + number(c.distance) + ", " +
         number(c.trend) + ", " + number(c.bend) + "}";
}

[[nodiscard]] std::string text_of(const ForecastConstants& c) {
  std::string out = "{\n    .low = " + text_of(c.low) + ",\n    .high = " + text_of(c.high) +
                    ",\n    .reach = {" + number(c.reach.offset) + ", {{\n";
  std::size_t on_line = 0;
  for (const estimators::ReachTree& tree : c.reach.trees) {
    out += on_line == 0 ? "        {{R::" : " {{R::";
    for (std::size_t i = 0; i < tree.feature.size(); ++i) {
      out += (i > 0 ? ", R::" : "") + std::string(estimators::name(tree.feature[i]));
    }
    out += "}, {";
    for (std::size_t i = 0; i < tree.threshold.size(); ++i) {
      out += (i > 0 ? ", " : "") + number(tree.threshold[i]);
    }
    out += "}, {";
    for (std::size_t i = 0; i < tree.leaf.size(); ++i) {
      out += (i > 0 ? ", " : "") + number(tree.leaf[i]);
    }
    out += "}},";
    on_line = (on_line + 1) % 4;
    if (on_line == 0) out += "\n";
  }
  return out + "    }}}}";
}

constexpr const char* kWrittenBy =
    "// Written by `laird-lab forecast --curves DIR,DIR --tune CHECKOUT`; docs/forecasting.md says "
    "how.\n"
    "// clang-format off\n";

[[nodiscard]] std::vector<std::vector<std::string>> folds_of(const std::vector<Curve>& curves) {
  std::set<std::string> sources;
  for (const Curve& curve : curves) {
    if (!curve.source.empty()) sources.insert(curve.source);
  }
  std::vector<std::vector<std::string>> folds(kFolds);
  std::size_t next = 0;
  for (const std::string& source : sources) folds[next++ % kFolds].push_back(source);
  return folds;
}

}  // namespace

ForecastConstants tune(const std::vector<Curve>& curves, const std::vector<std::string>& left_out) {
  std::vector<Miss> misses;
  std::vector<ReachRow> rows;
  std::vector<const std::string*> of_misses;
  std::vector<const std::string*> of_rows;
  SplitMix64 random{kSeed};
  for (const Curve& curve : curves) {
    if (std::find(left_out.begin(), left_out.end(), curve.source) != left_out.end()) continue;
    collect_misses(curve, misses);
    collect_rows(curve, random, rows);
    of_misses.resize(misses.size(), &curve.source);
    of_rows.resize(rows.size(), &curve.source);
  }
  balance(misses, of_misses);
  balance(rows, of_rows);
  ForecastConstants c{};
  c.low = rounded(fit_band(misses, -1.0));
  c.high = rounded(fit_band(misses, 1.0));
  c.reach = grow(rows);
  return c;
}

Status tune_and_write(const std::vector<Curve>& curves, const std::string& checkout) {
  std::fprintf(stderr, "tuning on all %zu curves\n", curves.size());
  const std::string open = std::string(kWrittenBy);
  std::string text =
      open +
      "#include \"estimators/model/forecaster.hpp\"\n\nnamespace laird::estimators {\n\n"
      "const ForecastConstants& shipped_constants() {\n  using R = Reach;\n"
      "  static constexpr ForecastConstants kConstants = " +
      text_of(tune(curves, {})) +
      ";\n  return kConstants;\n}\n\n}  // namespace laird::estimators\n";
  auto written = config::write_file(checkout + "/estimators/model/forecast_constants.cpp", text);
  if (!written) return written;

  const auto folds = folds_of(curves);
  text = open +
         "#include <map>\n\n#include \"lab/forecast/evaluate.hpp\"\n\nnamespace laird::lab {\n\n"
         "const estimators::ForecastConstants& untuned_on(const std::string& source) {\n"
         "  using R = estimators::Reach;\n"
         "  static constexpr std::array<estimators::ForecastConstants, " +
         std::to_string(kFolds) + "> kWithout = {{\n";
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    std::fprintf(stderr, "tuning without the %zu sources of fold %zu\n", folds[fold].size(), fold);
    text += "  " + text_of(tune(curves, folds[fold])) + ",\n";
  }
  text += "  }};\n  static const std::map<std::string, std::size_t> kFoldOf = {\n";
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    for (const std::string& source : folds[fold]) {
      text += "      {\"" + source + "\", " + std::to_string(fold) + "},\n";
    }
  }
  text +=
      "  };\n  const auto found = kFoldOf.find(source);\n"
      "  return found == kFoldOf.end() ? estimators::shipped_constants() : "
      "kWithout[found->second];\n}\n\n}  // namespace laird::lab\n";
  return config::write_file(checkout + "/lab/forecast/held_out.cpp", text);
}

}  // namespace laird::lab
