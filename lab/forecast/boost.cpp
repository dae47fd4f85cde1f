#include "lab/forecast/boost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace laird::lab {
namespace {

using estimators::kReachFeatures;
using estimators::Reach;
using estimators::ReachConstants;
using estimators::ReachTree;

constexpr std::size_t kBins = 48;
constexpr double kLearningRate = 0.1;
constexpr double kRidge = 20.0;             // in rows
constexpr double kLeafCurvatureMin = 40.0;  // sum of p (1 - p) in a leaf, in rows

struct Sums {
  double gradient = 0.0;
  double curvature = 0.0;
  void add(const Sums& other) {
    gradient += other.gradient;
    curvature += other.curvature;
  }
  [[nodiscard]] Sums less(const Sums& other) const {
    return {gradient - other.gradient, curvature - other.curvature};
  }
  [[nodiscard]] double leaf() const { return -gradient / (curvature + kRidge); }
  [[nodiscard]] double gain() const { return gradient * gradient / (curvature + kRidge); }
};

struct Split {
  double gain = 0.0;
  std::size_t feature = 0;
  std::size_t bin = 0;  // rows of this bin and those below go left
  Sums left;
  Sums right;
};

using Histogram = std::array<std::array<Sums, kBins + 1>, kReachFeatures>;

// Five digits: more would be noise, and the files stay readable.
[[nodiscard]] double rounded(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", v);
  return std::strtod(text, nullptr);
}

class Grower {
 public:
  explicit Grower(const std::vector<ReachRow>& rows) : rows_(rows), bins_(rows.size()) {
    for (std::size_t f = 0; f < kReachFeatures; ++f) cut(f);
    double weights = 0.0;
    double came_true = 0.0;
    for (const ReachRow& row : rows) {
      weights += row.weight;
      if (row.came_true) came_true += row.weight;
    }
    scale_ = static_cast<double>(rows.size()) / weights;
    // All true or all false: as if one row were not.
    const double one = weights / static_cast<double>(rows.size());
    const double odds = (came_true + one) / (weights - came_true + one);
    result_.offset = rounded(std::log(odds));
    odds_.reserve(rows.size());
    for (const ReachRow& row : rows) {
      odds_.push_back(result_.offset + estimators::plain_odds(row.features));
    }
    sums_.resize(rows.size());
    side_.resize(rows.size());
  }

  ReachConstants run() {
    for (ReachTree& tree : result_.trees) tree = grow_one();
    return result_;
  }

 private:
  void cut(std::size_t f) {
    std::vector<double> values;
    values.reserve(rows_.size());
    for (const ReachRow& row : rows_) values.push_back(row.features[f]);
    std::sort(values.begin(), values.end());
    auto& cuts = cuts_[f];
    for (std::size_t b = 1; b <= kBins; ++b) {
      const double at = rounded(values[b * (values.size() - 1) / (kBins + 1)]);
      if (cuts.empty() || at > cuts.back()) cuts.push_back(at);
    }
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto bin = std::lower_bound(cuts.begin(), cuts.end(), rows_[i].features[f]);
      bins_[i][f] = static_cast<std::uint8_t>(bin - cuts.begin());
    }
  }

  [[nodiscard]] Histogram histogram(std::uint8_t side) const {
    Histogram h{};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (side_[i] != side) continue;
      for (std::size_t f = 0; f < kReachFeatures; ++f) h[f][bins_[i][f]].add(sums_[i]);
    }
    return h;
  }

  // The best split that keeps every direction; `low` and `high` bound the leaves it may make.
  [[nodiscard]] Split best(const Histogram& h, double low, double high) const {
    Split best;
    for (std::size_t f = 0; f < kReachFeatures; ++f) {
      Sums all;
      for (const Sums& s : h[f]) all.add(s);
      Sums left;
      for (std::size_t b = 0; b < cuts_[f].size(); ++b) {
        left.add(h[f][b]);
        const Sums right = all.less(left);
        if (left.curvature < kLeafCurvatureMin || right.curvature < kLeafCurvatureMin) continue;
        const double gain = left.gain() + right.gain() - all.gain();
        if (gain <= best.gain) continue;
        const double l = left.leaf();
        const double r = right.leaf();
        if (estimators::trend_of(static_cast<Reach>(f)) * (r - l) < 0.0) continue;
        if (std::min(l, r) < low || std::max(l, r) > high) continue;
        best = {gain, f, b, left, right};
      }
    }
    return best;
  }

  [[nodiscard]] ReachTree grow_one() {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double p = 1.0 / (1.0 + std::exp(-odds_[i]));
      const double weight = rows_[i].weight * scale_;
      sums_[i] = {weight * (p - (rows_[i].came_true ? 1.0 : 0.0)), weight * p * (1.0 - p)};
      side_[i] = 0;
    }
    constexpr double kAny = 1e9;
    const Split top = best(histogram(0), -kAny, kAny);
    ReachTree tree{};
    if (top.gain <= 0.0) return tree;  // nothing left to learn: it adds nothing
    tree.feature[0] = static_cast<Reach>(top.feature);
    tree.threshold[0] = cuts_[top.feature][top.bin];
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      side_[i] = bins_[i][top.feature] <= top.bin ? 1 : 2;
    }
    // Where the top has a direction, the leaves of its two sides must not cross.
    const int trend = estimators::trend_of(static_cast<Reach>(top.feature));
    const double middle = 0.5 * (top.left.leaf() + top.right.leaf());
    for (const std::uint8_t side : {std::uint8_t{1}, std::uint8_t{2}}) {
      const bool is_low = trend != 0 && (side == 1) == (trend > 0);
      const bool is_high = trend != 0 && !is_low;
      const Split split = best(histogram(side), is_high ? middle : -kAny, is_low ? middle : kAny);
      tree.feature[side] = static_cast<Reach>(split.feature);
      const std::size_t leaf = side == 1 ? 0 : 2;
      const Sums& whole = side == 1 ? top.left : top.right;
      const bool has_split = split.gain > 0.0;
      tree.threshold[side] = has_split ? cuts_[split.feature][split.bin] : 0.0;
      tree.leaf[leaf] = rounded(kLearningRate * (has_split ? split.left : whole).leaf());
      tree.leaf[leaf + 1] = rounded(kLearningRate * (has_split ? split.right : whole).leaf());
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (side_[i] != side) continue;
        const bool is_left = rows_[i].features[split.feature] <= tree.threshold[side];
        odds_[i] += tree.leaf[is_left ? leaf : leaf + 1];
      }
    }
    return tree;
  }

  const std::vector<ReachRow>& rows_;
  std::array<std::vector<double>, kReachFeatures> cuts_;
  std::vector<std::array<std::uint8_t, kReachFeatures>> bins_;
  std::vector<double> odds_;
  std::vector<Sums> sums_;
  std::vector<std::uint8_t> side_;
  double scale_ = 1.0;
  ReachConstants result_{};
};

}  // namespace

ReachConstants grow(const std::vector<ReachRow>& rows) { return Grower(rows).run(); }

}  // namespace laird::lab
