// Learns what a board's lanes really draw, from readings and from what is known to have run.
//
// Model: P = idle + gpu * use_gpu + cpu * use_cpu, fitted by recursive least squares with
// exponential forgetting (Ljung, System Identification, 2nd ed. 1999, section 11.2):
//   k = C x / (lambda + x' C x),  theta += k (P - x' theta),  C = (C - k x' C) / lambda
// Symbols: x = (1, use_gpu, use_cpu); theta = (idle, gpu, cpu) in watts; C covariance; lambda < 1
// the forgetting factor, here about 500 readings of memory.
// Assumptions: use is constant over the reading (the caller leaves others out).
// Deviations: C is kept from growing without bound when nothing moves (forgetting stops while a
// direction is not excited), and theta stays within a factor of four of the board file, so that no
// run of strange readings can make the gate open wide.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/archive.hpp"
#include "power/model/board.hpp"

namespace laird::power {

class LaneWeights {
 public:
  explicit LaneWeights(const PowerModel& model = {});

  // Shares of lane time in use during the reading, 0 to 1000.
  void observe(std::int32_t gpu_permille, std::int32_t cpu_permille, std::int64_t total_mw);
  [[nodiscard]] std::int64_t idle_mw() const { return milli(theta_[0]); }
  [[nodiscard]] std::int64_t gpu_mw() const { return milli(theta_[1]); }
  [[nodiscard]] std::int64_t cpu_mw() const { return milli(theta_[2]); }
  // The lanes' weights scaled to add up to `full_mw`: what the gate uses. Only their ratio is
  // learned there, as the scale is the governor's to correct: two learners of one number would
  // fight, and a scale that moves under a fixed level would be a disturbance of our own making.
  [[nodiscard]] std::int64_t gpu_part_mw(std::int64_t full_mw) const;
  [[nodiscard]] std::int64_t cpu_part_mw(std::int64_t full_mw) const {
    return full_mw - gpu_part_mw(full_mw);
  }
  [[nodiscard]] std::uint64_t observations() const { return observations_; }
  void archive(Archive& ar);

 private:
  using Vector = std::array<double, 3>;

  // Weights decide, so they leave as whole milliwatts.
  static std::int64_t milli(double watts) { return std::llround(watts * 1000); }
  void limit();

  Vector low_{}, high_{};
  Vector theta_{};
  std::array<Vector, 3> covariance_{};
  std::uint64_t observations_ = 0;
};

}  // namespace laird::power
