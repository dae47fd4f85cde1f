#include "lab/forecast/memory.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/forecast/evaluate.hpp"

namespace laird::lab {
namespace {

constexpr double kShare = 0.01;

[[nodiscard]] std::map<std::string, std::vector<std::size_t>> groups_of(
    const std::vector<Curve>& curves) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (!curves[i].group.empty()) groups[curves[i].group].push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  return groups;
}

[[nodiscard]] double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return 0.5 * (values[values.size() / 2] + values[(values.size() - 1) / 2]);
}

struct Told {
  double ln_error;
  bool covered;
};

// From the first `used` points; `earlier` null: alone.
[[nodiscard]] Told foretell(const Curve& curve, const Curve* earlier, std::size_t used) {
  estimators::Forecaster forecaster(untuned_on(curve.source));
  if (earlier != nullptr) forecaster.recall(trace_of(*earlier));
  for (std::size_t i = 0; i < used; ++i) forecaster.observe(curve.samples[i], curve.loss[i]);
  const auto f = forecaster.loss_at(curve.samples.back());
  const double loss = curve.loss.back();
  return {std::fabs(std::log(f->loss / loss)), f->low <= loss && loss <= f->high};
}

}  // namespace

estimators::Trace trace_of(const Curve& curve) {
  estimators::Forecaster forecaster;
  for (std::size_t i = 0; i < curve.samples.size(); ++i) {
    forecaster.observe(curve.samples[i], curve.loss[i]);
  }
  return forecaster.trace();
}

std::vector<std::size_t> earlier_runs(const std::vector<Curve>& curves) {
  std::vector<std::size_t> earlier(curves.size());
  for (std::size_t i = 0; i < curves.size(); ++i) earlier[i] = i;
  for (const auto& [name, runs] : groups_of(curves)) {
    for (std::size_t j = 0; j < runs.size(); ++j) earlier[runs[j]] = runs[(j + 1) % runs.size()];
  }
  return earlier;
}

MemoryScore score_memory(const std::vector<Curve>& curves) {
  const auto groups = groups_of(curves);
  MemoryScore score;
  score.groups = groups.size();
  std::vector<double> alone;
  std::vector<double> with_one;
  std::vector<double> misled;
  std::vector<double> at_start;
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    const auto next = std::next(group) == groups.end() ? groups.begin() : std::next(group);
    const Curve& other = curves[next->second.front()];
    const auto& runs = group->second;
    for (std::size_t j = 0; j < runs.size(); ++j) {
      const Curve& curve = curves[runs[j]];
      const Curve& earlier = curves[runs[(j + 1) % runs.size()]];
      const std::size_t used =
          std::min(curve.samples.size() - 1, std::max(kPointsMin, points_of(curve, kShare)));
      alone.push_back(foretell(curve, nullptr, used).ln_error);
      const Told told = foretell(curve, &earlier, used);
      with_one.push_back(told.ln_error);
      score.coverage_with_one += told.covered ? 1.0 : 0.0;
      misled.push_back(foretell(curve, &other, used).ln_error);
      at_start.push_back(foretell(curve, &earlier, 0).ln_error);
    }
  }
  score.runs = alone.size();
  if (score.runs > 0) score.coverage_with_one /= static_cast<double>(score.runs);
  score.ln_error_alone = median(alone);
  score.ln_error_with_one = median(with_one);
  score.ln_error_misled = median(misled);
  score.ln_error_at_start = median(at_start);
  return score;
}

}  // namespace laird::lab
