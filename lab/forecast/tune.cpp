#include "lab/forecast/tune.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <set>

#include "config/schema.hpp"
#include "lab/forecast/evaluate.hpp"

namespace laird::lab {

namespace {

using estimators::ForecastConstants;
using estimators::Forecaster;
using Point = std::vector<double>;

constexpr double kPull = 0.03;   // weight of the squared distance from the round numbers
constexpr double kFarOff = 2.0;  // |ln(forecast / true)| beyond which the penalty starts
constexpr double kFarOffWeight = 1.0;
constexpr int kIterations = 80;
constexpr double kLevelStretch = 1.03;

// A constant that is searched: how far it may reasonably move, and whether on a log scale.
struct Knob {
  double ForecastConstants::*member;
  double step;
  bool logarithmic;
};
const std::array<Knob, 8> kPointKnobs = {{{&ForecastConstants::memory_mid, 0.3, true},
                                          {&ForecastConstants::memory_ratio, 0.2, true},
                                          {&ForecastConstants::shift, 0.3, true},
                                          {&ForecastConstants::ridge, 1.0, true},
                                          {&ForecastConstants::slope_precision, 0.5, true},
                                          {&ForecastConstants::likelihood_power, 0.3, true},
                                          {&ForecastConstants::drop_max, 0.2, true},
                                          {&ForecastConstants::caution, 0.1, false}}};
const std::array<Knob, 4> kScaleKnobs = {{{&ForecastConstants::scale_level, 0.7, true},
                                          {&ForecastConstants::scale_noise, 0.7, true},
                                          {&ForecastConstants::scale_distance, 0.5, true},
                                          {&ForecastConstants::scale_bank, 0.7, true}}};

template <std::size_t N>
[[nodiscard]] ForecastConstants at(const ForecastConstants& origin,
                                   const std::array<Knob, N>& knobs, const Point& x) {
  ForecastConstants c = origin;
  for (std::size_t i = 0; i < N; ++i) {
    const double move = knobs[i].step * x[i];
    double& v = c.*knobs[i].member;
    v = knobs[i].logarithmic ? v * std::exp(move) : v + move;
  }
  return c;
}

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

struct Question {
  std::size_t points;
  std::size_t end;
  double weight;
};

[[nodiscard]] std::vector<Question> questions(const Curve& curve) {
  constexpr std::array<double, 9> kStarts = {.01, .015, .02, .03, .05, .07, .10, .15, .20};
  std::vector<Question> all;
  const std::size_t n = curve.samples.size();
  for (const bool whole : {true, false}) {
    const std::size_t end = whole ? n - 1 : n / 2;
    for (const double share : kStarts) {
      std::size_t points = points_of(curve, share);
      double weight = whole ? 1.0 : 0.5;
      if (points < kPointsMin) {
        points = kPointsMin;
        weight *= 0.5;
      }
      if (end > points + 1) all.push_back({points, end, weight});
    }
  }
  return all;
}

struct Asked {
  const Curve* curve;
  std::vector<Question> questions;
  double balance;  // weight of the curve's source
};

[[nodiscard]] std::vector<Asked> training_set(const std::vector<Curve>& curves,
                                              const std::string& left_out) {
  std::vector<Asked> all;
  std::map<std::string, double> of_source;
  for (const Curve& curve : curves) {
    if (curve.source == left_out && !left_out.empty()) continue;
    all.push_back({&curve, questions(curve), 0.0});
    for (const Question& q : all.back().questions) of_source[curve.source] += q.weight;
  }
  for (Asked& asked : all) asked.balance = 1.0 / std::sqrt(of_source[asked.curve->source]);
  return all;
}

// One forecast of the training set: the truth, the point forecast and the 5-95% band in ln loss.
using Visit = std::function<void(double weight, double r_true, const estimators::LossForecast&)>;

void walk(const std::vector<Asked>& set, const ForecastConstants& constants, const Visit& visit) {
  for (const Asked& asked : set) {
    Forecaster forecaster(constants);
    const Curve& curve = *asked.curve;
    // Both ends ask after the same starts, in ascending order each: two passes over one walk.
    std::size_t points_max = 0;
    for (const Question& q : asked.questions) points_max = std::max(points_max, q.points);
    for (std::size_t i = 0; i < points_max; ++i) {
      forecaster.observe(curve.samples[i], curve.loss[i]);
      for (const Question& q : asked.questions) {
        if (q.points != i + 1) continue;
        const auto forecast = forecaster.loss_at(curve.samples[q.end]);
        if (forecast) visit(q.weight * asked.balance, std::log(curve.loss[q.end]), *forecast);
      }
    }
  }
}

[[nodiscard]] double point_objective(const std::vector<Asked>& set, const ForecastConstants& c) {
  double sum = 0.0;
  double weights = 0.0;
  walk(set, c, [&](double weight, double r_true, const estimators::LossForecast& f) {
    const double off = std::log(f.loss) - r_true;
    const double far = std::max(0.0, std::fabs(off) - kFarOff);
    sum +=
        weight * (std::min(kErrorCap, std::fabs(std::exp(off) - 1.0)) + kFarOffWeight * far * far);
    weights += weight;
  });
  return sum / weights;
}

struct Residual {
  double weight;
  double z;
};

// Standardised errors. The band's width over that of the quantile table is the scale.
[[nodiscard]] std::vector<Residual> residuals(const std::vector<Asked>& set,
                                              const ForecastConstants& c,
                                              std::vector<double>* scales) {
  const auto& q = c.error_quantiles;
  const double width = q[q.size() - 2] - q[1];
  std::vector<Residual> all;
  walk(set, c, [&](double weight, double r_true, const estimators::LossForecast& f) {
    const double scale = std::log(f.high / f.low) / width;
    all.push_back({weight, (r_true - std::log(f.loss)) / scale});
    if (scales != nullptr) scales->push_back(scale);
  });
  return all;
}

[[nodiscard]] double scale_objective(const std::vector<Asked>& set, const ForecastConstants& c) {
  std::vector<double> scales;
  const std::vector<Residual> all = residuals(set, c, &scales);
  double sum = 0.0;
  double weights = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += all[i].weight * (std::log(scales[i]) + 2.5 * std::log1p(all[i].z * all[i].z / 4.0));
    weights += all[i].weight;
  }
  return sum / weights;
}

void read_off_quantiles(std::vector<Residual> all, ForecastConstants& c) {
  std::sort(all.begin(), all.end(), [](const Residual& a, const Residual& b) { return a.z < b.z; });
  double total = 0.0;
  for (const Residual& r : all) total += r.weight;
  std::size_t i = 0;
  double below = 0.0;
  for (std::size_t level = 0; level < estimators::kErrorLevels.size(); ++level) {
    // A source nobody has seen errs more than the few it was tuned on: levels are read off further
    // out.
    const double target = 0.5 + kLevelStretch * (estimators::kErrorLevels[level] - 0.5);
    while (i + 1 < all.size() && below + all[i].weight < target * total) {
      below += all[i++].weight;
    }
    c.error_quantiles[level] = all[i].z;
  }
  // Strictly rising, for the cumulative distribution to have an inverse.
  for (std::size_t level = 1; level < c.error_quantiles.size(); ++level) {
    c.error_quantiles[level] =
        std::max(c.error_quantiles[level], c.error_quantiles[level - 1] + 0.02);
  }
}

[[nodiscard]] double rounded(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return std::strtod(text, nullptr);
}

void round_all(ForecastConstants& c) {
  for (const Knob& knob : kPointKnobs) c.*knob.member = rounded(c.*knob.member);
  for (const Knob& knob : kScaleKnobs) c.*knob.member = rounded(c.*knob.member);
  for (double& q : c.error_quantiles) q = rounded(q);
}

[[nodiscard]] std::string text_of(const ForecastConstants& c, const std::string& indent) {
  std::string out = "{\n";
  const auto line = [&](const char* key, double v) {
    char text[96];
    std::snprintf(text, sizeof text, "%s    .%s = %.9g,\n", indent.c_str(), key, v);
    out += text;
  };
  line("memory_mid", c.memory_mid);
  line("memory_ratio", c.memory_ratio);
  line("shift", c.shift);
  line("ridge", c.ridge);
  line("slope_prior", c.slope_prior);
  line("slope_precision", c.slope_precision);
  line("likelihood_power", c.likelihood_power);
  line("dof_offset", c.dof_offset);
  line("noise_floor", c.noise_floor);
  line("drop_max", c.drop_max);
  line("rise_max", c.rise_max);
  line("caution", c.caution);
  line("scale_level", c.scale_level);
  line("scale_noise", c.scale_noise);
  line("scale_distance", c.scale_distance);
  line("scale_bank", c.scale_bank);
  out += indent + "    .error_quantiles = {";
  for (std::size_t i = 0; i < c.error_quantiles.size(); ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.6g", i == 0 ? "" : ", ", c.error_quantiles[i]);
    out += text;
  }
  return out + "}}";
}

constexpr const char* kWrittenBy =
    "// Written by `laird-lab forecast --curves DIR --tune CHECKOUT`; docs/forecasting.md says "
    "how.\n"
    "// clang-format off\n";

}  // namespace

ForecastConstants round_constants() {
  return {.memory_mid = 4.0,
          .memory_ratio = 4.0,
          .shift = 1.0,
          .ridge = 0.001,
          .slope_prior = -0.3,
          .slope_precision = 4.0,
          .likelihood_power = 1.0,
          .dof_offset = 2.0,
          .noise_floor = 1e-5,
          .drop_max = 2.6,
          .rise_max = 0.4,
          .caution = 0.1,
          .scale_level = 0.05,
          .scale_noise = 1.0,
          .scale_distance = 0.15,
          .scale_bank = 0.5,
          .error_quantiles = {-2.5, -1.7, -1.2, -0.5, 0.0, 0.5, 1.2, 1.7, 2.5}};
}

ForecastConstants tune(const std::vector<Curve>& curves, const std::string& left_out) {
  const std::vector<Asked> set = training_set(curves, left_out);
  const auto search = [&](const ForecastConstants& origin, const auto& knobs, double pull,
                          const auto& objective) {
    const auto f = [&](const Point& x) {
      double squares = 0.0;
      for (const double v : x) squares += v * v;
      return objective(set, at(origin, knobs, x)) + pull * squares;
    };
    Point best(knobs.size(), 0.0);
    best = nelder_mead(f, best, 1.0, kIterations);
    best = nelder_mead(f, best, -0.5, kIterations);
    return at(origin, knobs, best);
  };
  ForecastConstants c = search(round_constants(), kPointKnobs, kPull, point_objective);
  c = search(c, kScaleKnobs, kPull, scale_objective);
  read_off_quantiles(residuals(set, c, nullptr), c);
  round_all(c);
  return c;
}

Status tune_and_write(const std::vector<Curve>& curves, const std::string& checkout) {
  std::set<std::string> sources;
  for (const Curve& curve : curves) {
    if (!curve.source.empty()) sources.insert(curve.source);
  }
  std::fprintf(stderr, "tuning on all %zu curves\n", curves.size());
  std::string text = kWrittenBy;
  text +=
      "#include \"estimators/model/forecaster.hpp\"\n\nnamespace laird::estimators {\n\n"
      "const ForecastConstants& shipped_constants() {\n"
      "  static constexpr ForecastConstants kConstants = " +
      text_of(tune(curves, ""), "  ") +
      ";\n  return kConstants;\n}\n\n}  // namespace laird::estimators\n";
  auto written = config::write_file(checkout + "/estimators/model/forecast_constants.cpp", text);
  if (!written) return written;

  text = kWrittenBy;
  text +=
      "#include <map>\n\n#include \"lab/forecast/evaluate.hpp\"\n\nnamespace laird::lab {\n\n"
      "const estimators::ForecastConstants& untuned_on(const std::string& source) {\n"
      "  static const std::map<std::string, estimators::ForecastConstants> kWithout = {\n";
  for (const std::string& source : sources) {
    std::fprintf(stderr, "tuning without %s\n", source.c_str());
    text += "      {\"" + source + "\", " + text_of(tune(curves, source), "      ") + "},\n";
  }
  text +=
      "  };\n  const auto found = kWithout.find(source);\n"
      "  return found == kWithout.end() ? estimators::shipped_constants() : found->second;\n}\n\n"
      "}  // namespace laird::lab\n";
  return config::write_file(checkout + "/lab/forecast/held_out.cpp", text);
}

}  // namespace laird::lab
