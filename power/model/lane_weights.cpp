#include "power/model/lane_weights.hpp"

#include <algorithm>

namespace laird::power {
namespace {

constexpr double kForget = 0.998;
// One tenth of the file's value, squared, is how wrong it is taken to be at first; the readings'
// own noise has the unit variance of (0.1 W)^2 that the covariance is measured in.
constexpr double kNoiseW = 0.1;
constexpr double kTraceMax = 1e4;
constexpr double kFactor = 4.0;
constexpr double kValueMax = 1e15;  // of anything in a snapshot

}  // namespace

LaneWeights::LaneWeights(const PowerModel& model) {
  const Vector watts = {static_cast<double>(model.idle_mw) * 1e-3,
                        static_cast<double>(model.gpu_dynamic_mw) * 1e-3,
                        static_cast<double>(model.cpu_dynamic_mw) * 1e-3};
  for (std::size_t i = 0; i < 3; ++i) {
    theta_[i] = watts[i];
    low_[i] = watts[i] / kFactor;
    high_[i] = watts[i] * kFactor;
    // Half the value as one sigma; a lane the board does not have stays at zero.
    const double sigma = 0.5 * watts[i] / kNoiseW;
    covariance_[i][i] = sigma * sigma;
  }
}

void LaneWeights::observe(std::int32_t gpu_permille, std::int32_t cpu_permille,
                          std::int64_t total_mw) {
  if (total_mw <= 0 || total_mw > 10'000'000) return;
  const Vector x = {1.0, std::clamp(gpu_permille, 0, 1000) * 1e-3,
                    std::clamp(cpu_permille, 0, 1000) * 1e-3};
  Vector cx{};
  double xcx = 0;
  double predicted = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) cx[i] += covariance_[i][j] * x[j];
    xcx += x[i] * cx[i];
    predicted += x[i] * theta_[i];
  }
  const double error = static_cast<double>(total_mw) * 1e-3 - predicted;
  const double trace = covariance_[0][0] + covariance_[1][1] + covariance_[2][2];
  const double forget = trace < kTraceMax && xcx > 0.01 ? kForget : 1.0;
  const double gain = 1.0 / (forget + xcx);
  for (std::size_t i = 0; i < 3; ++i) theta_[i] += cx[i] * gain * error;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      covariance_[i][j] = (covariance_[i][j] - cx[i] * cx[j] * gain) / forget;
    }
  }
  ++observations_;
  limit();
}

std::int64_t LaneWeights::gpu_part_mw(std::int64_t full_mw) const {
  const std::int64_t both = gpu_mw() + cpu_mw();
  if (both <= 0 || full_mw <= 0) return 0;
  return static_cast<std::int64_t>(static_cast<__int128>(full_mw) * gpu_mw() / both);
}

void LaneWeights::limit() {
  for (std::size_t i = 0; i < 3; ++i) {
    // Written so that what is no number ends at the low end.
    theta_[i] = theta_[i] >= low_[i] ? std::min(theta_[i], high_[i]) : low_[i];
  }
}

void LaneWeights::archive(Archive& ar) {
  for (Vector* v : {&low_, &high_, &theta_, &covariance_[0], &covariance_[1], &covariance_[2]}) {
    for (double& value : *v) ar(value);
  }
  ar(observations_);
  if (!ar.reading()) return;
  for (const Vector* v :
       {&low_, &high_, &theta_, &covariance_[0], &covariance_[1], &covariance_[2]}) {
    for (const double value : *v) {
      if (!(value > -kValueMax && value < kValueMax)) ar.fail();
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!(low_[i] <= high_[i])) ar.fail();
  }
}

}  // namespace laird::power
