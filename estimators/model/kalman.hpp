// The Kalman filters of the LaiRA paper, and the damped log-time filter our forecaster is
// measured against.
//
// Source: LaiRA (Wang, Liu, Zhou), eqs. 2-8 (DKF); the paper's baseline KF is eq. 2 with theta a
// random walk. The arithmetic of the DKF is estimators/lane/dkf_lane.hpp, in level coordinates.
// The paper prints no constants: those here are ours, the best of a search over real curves, and in
// the usable corner velocity and acceleration barely act.
#pragma once

#include <array>
#include <cstdint>

#include "base/archive.hpp"
#include "estimators/lane/dkf_lane.hpp"
#include "estimators/model/observation.hpp"

namespace laird::estimators {

// DKF: six states, look-ahead in closed form.
class DynamicKalmanFilter {
 public:
  struct Setting {
    double step = 0.01;                                  // Delta
    std::array<double, 3> process = {1e-4, 1e-6, 1e-8};  // of theta, theta', theta''
    double observation = 1e-2;                           // R
    std::array<double, 3> start_variance = {10.0, 1e-3, 1e-6};
  };

  DynamicKalmanFilter() : DynamicKalmanFilter(Setting{}) {}
  explicit DynamicKalmanFilter(const Setting& setting);

  Observed observe(double samples, double loss);
  [[nodiscard]] std::uint64_t reports() const { return reports_; }
  // Eq. 8: `steps` further reports that bring the samples to `samples`.
  [[nodiscard]] double log_loss_at(double samples, double steps) const;
  [[nodiscard]] double loss_at(double samples, double steps) const;
  [[nodiscard]] const lane::DkfState<double>& state() const { return state_; }
  // What it has learned; its setting is not part of it.
  void archive(Archive& ar);

 private:
  lane::DkfConstants<double> constants_{};
  std::array<double, 3> start_variance_{};
  lane::DkfState<double> state_{};
  std::uint64_t reports_ = 0;
  double samples_ = -1.0;
  double x_ = 0.0;
};

// KF: slope and intercept as random walks, no dynamics.
class RandomWalkFilter {
 public:
  struct Setting {
    double process = 1e-4;
    double observation = 1e-2;
    double start_variance = 10.0;
  };

  RandomWalkFilter() = default;
  explicit RandomWalkFilter(const Setting& setting) : setting_(setting) {}

  Observed observe(double samples, double loss);
  [[nodiscard]] double loss_at(double samples) const;

 private:
  Setting setting_{};
  std::uint64_t reports_ = 0;
  double samples_ = -1.0;
  double x_ = 0.0;
  double slope_ = 0.0;
  double level_ = 0.0;
  double p_ss_ = 0.0;
  double p_sl_ = 0.0;
  double p_ll_ = 0.0;
};

// Damped trend in ln s: [ln loss, slope], the slope reverts to a mean; observation noise follows
// the innovations, which are clipped. Over d = ln(s'/s): e = exp(-kappa d), a = (1 - e) / kappa.
class DampedTrendFilter {
 public:
  struct Setting {
    double kappa = 0.07;
    double slope_mean = -0.24;
    double slope_noise = 3.1;
    double level_noise = 0.96;
    double slope_start = -0.72;
    double observation_start = 0.0021;
  };

  DampedTrendFilter() = default;
  explicit DampedTrendFilter(const Setting& setting) : setting_(setting) {}

  Observed observe(double samples, double loss);
  [[nodiscard]] double loss_at(double samples) const;

 private:
  struct Moments {
    double level = 0.0;
    double slope = 0.0;
    double p_ll = 0.0;
    double p_ls = 0.0;
    double p_ss = 0.0;
  };
  [[nodiscard]] Moments ahead(double distance) const;

  Setting setting_{};
  std::uint64_t reports_ = 0;
  double samples_ = -1.0;
  double observation_ = 0.0;
  Moments now_{};
};

}  // namespace laird::estimators
