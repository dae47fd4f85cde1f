#include "lab/scheduling/tune_prospects.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "config/schema.hpp"
#include "lab/forecast/evaluate.hpp"
#include "lab/scheduling/bundles.hpp"
#include "lab/simulator/random.hpp"

namespace laird::lab {
namespace {

using placement::kNeedParts;
using placement::kProspectFeatures;
using placement::kProspectProducts;
using placement::ProspectConstants;
using placement::ProspectFeatures;
using placement::ProspectSet;

constexpr std::size_t kQuestions = 150;  // per curve
constexpr double kRidge = 0.0015;        // per unit of total weight
constexpr double kProductRidge = 0.15;   // of products: they may bend the plane, not replace it
constexpr double kOffsetRidge = 1e-5;    // of offsets: keeps a level everybody is below finite
constexpr int kNewtonSteps = 30;
constexpr double kPerReport = static_cast<double>(kSamplesPerPoint);

struct Row {
  ProspectFeatures features{};
  double weight = 1.0;
  bool reached = false;
  double need = 0.0;  // as a part of the length, when reached
};

// Rows of one question at one moment: with the planned length, and without.
struct Rows {
  std::vector<Row> planned;
  std::vector<Row> unplanned;
};

void ask(const Curve& curve, double weight, Random& random, Rows& rows) {
  const auto points = static_cast<double>(curve.loss.size());
  const BundleDraw draw = draw_task(curve, random);
  const auto hit = std::find_if(curve.loss.begin(), curve.loss.end(),
                                [&](double loss) { return loss <= draw.target_loss; });
  const bool reached = hit != curve.loss.end();
  const auto answered = static_cast<std::size_t>(hit - curve.loss.begin());
  if (answered < 2) return;
  std::array<std::size_t, 4> moments{};
  for (std::size_t& moment : moments) {
    const double at = 2.0 * std::pow(static_cast<double>(answered) / 2.0, random.unit());
    moment = std::clamp<std::size_t>(static_cast<std::size_t>(at), 2, answered);
  }
  moments[0] = 2;
  std::sort(moments.begin(), moments.end());
  estimators::Forecaster forecast(untuned_on(curve.source));
  std::size_t seen = 0;
  for (std::size_t m = 0; m < moments.size(); ++m) {
    if (m > 0 && moments[m] == moments[m - 1]) continue;
    for (; seen < moments[m]; ++seen) {
      static_cast<void>(
          forecast.observe(kPerReport * static_cast<double>(seen + 1), curve.loss[seen]));
    }
    const double samples = kPerReport * static_cast<double>(seen);
    const double planned = kPerReport * points;
    const double allowed = planned * draw.deadline_units / draw.duration_units;
    const double need = reached ? kPerReport * static_cast<double>(answered + 1 - seen) : 0.0;
    rows.planned.push_back(
        {placement::prospect_features(forecast, draw.target_loss, samples, planned, planned),
         weight, reached, need / planned});
    rows.unplanned.push_back(
        {placement::prospect_features(forecast, draw.target_loss, samples, allowed, 0.0), weight,
         reached, need / allowed});
  }
}

[[nodiscard]] Rows ask_all(const std::vector<Curve>& curves, const std::string& left_out) {
  std::map<std::string, double> curves_of;
  for (const Curve& curve : curves) curves_of[curve.source] += 1.0;
  Rows rows;
  Random random(1);
  for (const Curve& curve : curves) {
    if (!left_out.empty() && curve.source == left_out) continue;
    const double weight = 1.0 / std::sqrt(curves_of[curve.source]);
    for (std::size_t q = 0; q < kQuestions; ++q) ask(curve, weight, random, rows);
  }
  return rows;
}

void standardise(std::vector<Row>& rows, ProspectConstants& c) {
  double total = 0.0;
  c.mean.fill(0.0);
  c.scale.fill(0.0);
  for (const Row& row : rows) {
    total += row.weight;
    for (std::size_t i = 0; i < kProspectFeatures; ++i) c.mean[i] += row.weight * row.features[i];
  }
  for (double& mean : c.mean) mean /= total;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kProspectFeatures; ++i) {
      const double off = row.features[i] - c.mean[i];
      c.scale[i] += row.weight * off * off;
    }
  }
  for (double& scale : c.scale) scale = std::max(1e-6, std::sqrt(scale / total));
  for (Row& row : rows) {
    for (std::size_t i = 0; i < kProspectFeatures; ++i) {
      row.features[i] = std::clamp((row.features[i] - c.mean[i]) / c.scale[i], -3.0, 3.0);
    }
  }
}

// Logistic regression of `levels` yes-or-no answers per row that share the weights of the inputs
// and have an offset each. `inputs(row)` is a vector, `ridge` says how its weights are held,
// `answer(row, level)` the answers.
template <class Inputs, class Answer>
[[nodiscard]] Eigen::VectorXd fit(const std::vector<Row>& rows, const Eigen::VectorXd& ridge,
                                  std::size_t levels, Inputs inputs, Answer answer) {
  const Eigen::Index width = ridge.size();
  const auto offsets = static_cast<Eigen::Index>(levels);
  const Eigen::Index n = offsets + width;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(n);
  double total = 0.0;
  for (const Row& row : rows) total += row.weight;
  for (int step = 0; step < kNewtonSteps; ++step) {
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(n);
    Eigen::MatrixXd curvature = Eigen::MatrixXd::Zero(n, n);
    for (const Row& row : rows) {
      const Eigen::VectorXd f = inputs(row);
      const double shared = x.tail(width).dot(f);
      double curve_sum = 0.0;
      double slope_sum = 0.0;
      for (Eigen::Index j = 0; j < offsets; ++j) {
        const double p = 1.0 / (1.0 + std::exp(-(x[j] + shared)));
        const double slope =
            row.weight * (p - (answer(row, static_cast<std::size_t>(j)) ? 1.0 : 0.0));
        const double curve = row.weight * p * (1.0 - p);
        gradient[j] += slope;
        curvature(j, j) += curve;
        curvature.row(j).tail(width) += curve * f.transpose();
        slope_sum += slope;
        curve_sum += curve;
      }
      gradient.tail(width) += slope_sum * f;
      curvature.bottomRightCorner(width, width).noalias() += (curve_sum * f) * f.transpose();
    }
    for (Eigen::Index i = 0; i < n; ++i) {
      const double held =
          total * (i < offsets ? kOffsetRidge : ridge[i - offsets] * static_cast<double>(levels));
      gradient[i] += held * x[i];
      curvature(i, i) += held;
    }
    curvature.bottomLeftCorner(width, offsets) =
        curvature.topRightCorner(offsets, width).transpose();
    x -= curvature.ldlt().solve(gradient);
  }
  return x;
}

[[nodiscard]] Eigen::VectorXd plain_inputs(const Row& row) {
  return Eigen::Map<const Eigen::VectorXd>(row.features.data(), kProspectFeatures);
}

[[nodiscard]] Eigen::VectorXd inputs_with_products(const Row& row) {
  const placement::ProspectProducts products = placement::products_of(row.features);
  Eigen::VectorXd out(kProspectFeatures + kProspectProducts);
  out << plain_inputs(row), Eigen::Map<const Eigen::VectorXd>(products.data(), kProspectProducts);
  return out;
}

// Four digits: more would be noise, and the files stay readable.
[[nodiscard]] double rounded(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return std::strtod(text, nullptr);
}

[[nodiscard]] ProspectConstants fit_constants(std::vector<Row> rows) {
  ProspectConstants c{};
  standardise(rows, c);
  Eigen::VectorXd ridge = Eigen::VectorXd::Constant(kProspectFeatures + kProspectProducts, kRidge);
  ridge.tail(kProspectProducts).setConstant(kProductRidge);
  const Eigen::VectorXd reach = fit(rows, ridge, 1, inputs_with_products,
                                    [](const Row& row, std::size_t) { return row.reached; });
  std::erase_if(rows, [](const Row& row) { return !row.reached; });
  const Eigen::VectorXd need =
      fit(rows, ridge.head(kProspectFeatures), kNeedParts.size(), plain_inputs,
          [](const Row& row, std::size_t j) { return row.need <= kNeedParts[j]; });
  c.reach_offset = rounded(reach[0]);
  for (std::size_t i = 0; i < kProspectFeatures; ++i) {
    c.mean[i] = rounded(c.mean[i]);
    c.scale[i] = rounded(c.scale[i]);
    c.reach[i] = rounded(reach[static_cast<Eigen::Index>(1 + i)]);
    c.need[i] = rounded(need[static_cast<Eigen::Index>(kNeedParts.size() + i)]);
  }
  for (std::size_t i = 0; i < kProspectProducts; ++i) {
    c.reach_products[i] = rounded(reach[static_cast<Eigen::Index>(1 + kProspectFeatures + i)]);
  }
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    c.need_offset[j] = rounded(need[static_cast<Eigen::Index>(j)]);
  }
  return c;
}

template <std::size_t n>
[[nodiscard]] std::string list(const std::array<double, n>& values) {
  std::string out = "{";
  for (std::size_t i = 0; i < n; ++i) {
    char text[32];
    std::snprintf(text, sizeof text, "%s%.4g", i > 0 ? ", " : "", values[i]);
    out += text;
  }
  return out + "}";
}

[[nodiscard]] std::string text_of(const ProspectConstants& c) {
  char offset[32];
  std::snprintf(offset, sizeof offset, "%.4g", c.reach_offset);
  return "{.mean = " + list(c.mean) + ",\n           .scale = " + list(c.scale) +
         ",\n           .reach_offset = " + offset + ",\n           .reach = " + list(c.reach) +
         ",\n           .reach_products = " + list(c.reach_products) +
         ",\n           .need_offset = " + list(c.need_offset) +
         ",\n           .need = " + list(c.need) + "}";
}

[[nodiscard]] std::string text_of(const ProspectSet& set) {
  return "{\n          .planned =\n          " + text_of(set.planned) +
         ",\n          .unplanned =\n          " + text_of(set.unplanned) + "}";
}

constexpr const char* kWrittenBy =
    "// Written by `laird-lab laira --real DIR --tune CHECKOUT`; docs/experiments.md says how.\n"
    "// clang-format off\n";

}  // namespace

ProspectSet tune_prospects(const std::vector<Curve>& curves, const std::string& left_out) {
  Rows rows = ask_all(curves, left_out);
  return {fit_constants(std::move(rows.planned)), fit_constants(std::move(rows.unplanned))};
}

Status tune_prospects_and_write(const std::vector<Curve>& curves, const std::string& checkout) {
  std::set<std::string> sources;
  for (const Curve& curve : curves) {
    if (!curve.source.empty()) sources.insert(curve.source);
  }
  std::fprintf(stderr, "fitting to all %zu curves\n", curves.size());
  std::string text = kWrittenBy;
  text +=
      "#include \"agent/placement/prospect.hpp\"\n\nnamespace laird::placement {\n\n"
      "const ProspectSet& shipped_prospects() {\n  static constexpr ProspectSet kSet = " +
      text_of(tune_prospects(curves, "")) +
      ";\n  return kSet;\n}\n\n}  // namespace laird::placement\n";
  auto written = config::write_file(checkout + "/agent/placement/prospect_constants.cpp", text);
  if (!written) return written;

  text = kWrittenBy;
  text +=
      "#include <map>\n\n#include \"lab/scheduling/tune_prospects.hpp\"\n\nnamespace laird::lab "
      "{\n\nconst placement::ProspectSet& prospects_without(const std::string& source) {\n"
      "  static const std::map<std::string, placement::ProspectSet> kWithout = {\n";
  for (const std::string& source : sources) {
    std::fprintf(stderr, "fitting without %s\n", source.c_str());
    text += "      {\"" + source + "\", " + text_of(tune_prospects(curves, source)) + "},\n";
  }
  text +=
      "  };\n  const auto found = kWithout.find(source);\n"
      "  return found == kWithout.end() ? placement::shipped_prospects() : found->second;\n}\n\n"
      "}  // namespace laird::lab\n";
  return config::write_file(checkout + "/lab/scheduling/held_out_prospects.cpp", text);
}

}  // namespace laird::lab
