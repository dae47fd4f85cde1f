#include "lab/forecast/reach.hpp"

#include <algorithm>
#include <cmath>

#include "base/split_mix.hpp"
#include "lab/forecast/evaluate.hpp"

namespace laird::lab {

namespace {

constexpr int kQuestionsPerCurve = 60;

struct Answered {
  double probability;
  bool came_true;
};

void ask(const Curve& curve, SplitMix64& random, std::vector<Answered>& by_end,
         std::vector<Answered>& by_random) {
  const std::size_t n = curve.samples.size();
  const double count = static_cast<double>(n);
  std::vector<double> lowest(curve.loss);
  for (std::size_t i = 1; i < n; ++i) lowest[i] = std::min(lowest[i], lowest[i - 1]);
  for (int q = 0; q < kQuestionsPerCurve; ++q) {
    const bool reachable = random.unit() < 0.7;
    const double where = random.unit();
    const double target = reachable
                              ? lowest[static_cast<std::size_t>(count * (0.15 + 0.55 * where))]
                              : lowest[n - 1] * (0.75 + 0.23 * where);
    const double share = 0.01 * std::exp(random.unit() * std::log(60.0));
    const std::size_t used = std::max(kPointsMin, static_cast<std::size_t>(share * count));
    const double deadline_share = random.unit();
    if (used + 2 > n || lowest[used - 1] <= target) continue;
    estimators::Forecaster forecaster(untuned_on(curve.source));
    for (std::size_t i = 0; i < used; ++i) forecaster.observe(curve.samples[i], curve.loss[i]);
    const double end = curve.samples.back();
    by_end.push_back({forecaster.probability_below(target, end, end), lowest[n - 1] <= target});
    const auto further = static_cast<std::size_t>(deadline_share * static_cast<double>(n - used));
    const std::size_t deadline = std::min(n - 1, used + further);
    by_random.push_back({forecaster.probability_below(target, curve.samples[deadline], end),
                         lowest[deadline] <= target});
  }
}

[[nodiscard]] ReachScore score(const char* deadline, const std::vector<Answered>& all) {
  ReachScore s;
  s.deadline = deadline;
  s.questions = all.size();
  if (all.empty()) return s;
  double pairs = 0.0;
  double ordered = 0.0;
  for (const Answered& a : all) {
    const double outcome = a.came_true ? 1.0 : 0.0;
    s.base_rate += outcome;
    s.brier += (a.probability - outcome) * (a.probability - outcome);
    auto& bin = s.bins[std::min<std::size_t>(9, static_cast<std::size_t>(10.0 * a.probability))];
    ++bin.questions;
    bin.probability += a.probability;
    bin.came_true += outcome;
    if (!a.came_true) continue;
    for (const Answered& b : all) {
      if (b.came_true) continue;
      pairs += 1.0;
      ordered += a.probability > b.probability ? 1.0 : a.probability == b.probability ? 0.5 : 0.0;
    }
  }
  const double n = static_cast<double>(all.size());
  s.base_rate /= n;
  s.brier /= n;
  s.brier_base = s.base_rate * (1.0 - s.base_rate);
  s.auc = pairs > 0.0 ? ordered / pairs : 0.5;
  for (auto& bin : s.bins) {
    if (bin.questions == 0) continue;
    bin.probability /= static_cast<double>(bin.questions);
    bin.came_true /= static_cast<double>(bin.questions);
  }
  return s;
}

}  // namespace

std::vector<ReachScore> score_reach(const std::vector<Curve>& curves, std::uint64_t seed) {
  SplitMix64 random{seed};
  std::vector<Answered> by_end;
  std::vector<Answered> by_random;
  for (const Curve& curve : curves) ask(curve, random, by_end, by_random);
  return {score("end", by_end), score("random", by_random)};
}

}  // namespace laird::lab
