#include "agent/placement/prospect.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::placement {
namespace {

constexpr double kProbabilityMin = 0.004;  // a forecast is never believed beyond this
constexpr double kGapMin = 0.01;
constexpr double kSlopeMax = 2.0;
constexpr double kStandardisedMax = 3.0;
constexpr double kComeMin = 1e-6;

[[nodiscard]] double logistic(double x) { return 1.0 / (1.0 + exact::exp(-x)); }

template <std::size_t n>
[[nodiscard]] double dot(const std::array<double, n>& a, const std::array<double, n>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

ProspectProducts products_of(const ProspectFeatures& f) {
  ProspectProducts out;
  std::size_t k = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    for (std::size_t j = i; j < f.size(); ++j) out[k++] = f[i] * f[j];
  }
  return out;
}

ProspectFeatures prospect_features(const estimators::Forecaster& forecast, double target_loss,
                                   double samples, double length, double planned_samples) {
  const double target = std::max(target_loss, estimators::kLossMin);
  const double p = std::clamp(forecast.probability_below(target, length, planned_samples),
                              kProbabilityMin, 1.0 - kProbabilityMin);
  const double come = std::clamp(samples / length, kComeMin, 1.0);
  const double lowest = exact::log(std::max(forecast.loss_best(), estimators::kLossMin));
  const double gap = std::max(0.0, lowest - exact::log(target));
  const double slope = std::clamp(-forecast.slope(), 0.0, kSlopeMax);
  const double log_come = exact::log(come);
  return {exact::log(p / (1.0 - p)),
          come,
          log_come,
          gap,
          exact::log(kGapMin + gap),
          forecast.log_loss_first() - lowest,
          gap + slope * log_come};
}

double Prospect::need_quantile(double u) const {
  double below = 0.0;
  double from = 0.0;
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    if (within[j] >= u) {
      const double part = within[j] > below ? (u - below) / (within[j] - below) : 1.0;
      return length * (from + part * (kNeedParts[j] - from));
    }
    below = std::max(below, within[j]);
    from = kNeedParts[j];
  }
  return length * from;
}

double Prospect::within_samples(double samples) const {
  const double part = samples / length;
  double below = 0.0;
  double from = 0.0;
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    const double up_to = std::max(below, within[j]);
    if (part < kNeedParts[j]) {
      return below + (up_to - below) * std::max(0.0, part - from) / (kNeedParts[j] - from);
    }
    below = up_to;
    from = kNeedParts[j];
  }
  return 1.0;
}

Prospect prospect(const ProspectConstants& constants, const ProspectFeatures& features,
                  double length) {
  ProspectFeatures f;
  for (std::size_t i = 0; i < f.size(); ++i) {
    f[i] = std::clamp((features[i] - constants.mean[i]) / constants.scale[i], -kStandardisedMax,
                      kStandardisedMax);
  }
  Prospect out;
  out.length = length;
  out.reach = logistic(constants.reach_offset + dot(constants.reach, f) +
                       dot(constants.reach_products, products_of(f)));
  const double need = dot(constants.need, f);
  for (std::size_t j = 0; j < kNeedParts.size(); ++j) {
    out.within[j] = logistic(constants.need_offset[j] + need);
  }
  return out;
}

Prospect prospect_of(const core::Task& task, double speed, const ProspectSet& constants) {
  const bool is_planned = task.planned_samples > 0;
  const auto planned = static_cast<double>(task.planned_samples);
  const double allowed = speed * static_cast<double>(task.deadline_at - task.accepted_at) / 1e9;
  const double length = std::max(1.0, is_planned ? planned : allowed);
  return prospect(is_planned ? constants.planned : constants.unplanned,
                  prospect_features(task.forecast, task.spec.target_loss,
                                    static_cast<double>(task.samples), length, planned),
                  length);
}

}  // namespace laird::placement
