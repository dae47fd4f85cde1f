// How well each estimator foretells the end of real curves from their beginning.
//
// Protocol, after LaiRA (Wang, Liu, Zhou), Figure 3: predict the last point from the first 1, 2, 5,
// 10, 20% of the points, where that is at least kPointsMin points; error = |forecast - true| /
// true; "cap" is the mean of min(error, 2) over all predictions. A second mean, cap_all, takes the
// first four points where a share holds fewer, so that every curve counts five times. cap rewards
// low forecasts (too high costs up to 2, too low at most 1); ln_error, the mean of
// |ln(forecast / true)|, does not. It is averaged by source, since some sources have many curves.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "estimators/model/forecaster.hpp"
#include "lab/forecast/curves.hpp"

namespace laird::lab {

inline constexpr std::array<double, 5> kShares = {0.01, 0.02, 0.05, 0.10, 0.20};
inline constexpr std::size_t kPointsMin = 4;
inline constexpr double kErrorCap = 2.0;

struct Prediction {
  std::string curve;
  std::string source;
  std::string kind;
  double share;
  bool short_start;  // fewer than kPointsMin points: counted in cap_all alone
  double loss;
  double loss_true;
  std::optional<double> low;  // the 90% band, where the method has one
  std::optional<double> high;
};

struct MethodScore {
  std::string name;
  std::string about;
  std::array<double, kShares.size()> median{};
  double cap = 0.0;
  double cap_all = 0.0;
  double over_10x = 0.0;  // share of predictions more than ten times too high or too low
  std::optional<double> coverage_90;
  double ln_error = 0.0;
  std::array<double, kShares.size()> coverage{};  // per share; NaN where none was predicted
  // The mean |ln(forecast / true)|, cap and coverage of single kinds and sources.
  struct Part {
    std::string name;
    std::size_t predictions = 0;
    double ln_error = 0.0;
    double cap = 0.0;
    std::optional<double> coverage_90;
  };
  std::vector<Part> kinds;
  std::vector<Part> sources;
  double ns_update = 0.0;
  double ns_forecast = 0.0;
  std::vector<Prediction> predictions;
};

// The constants to judge a curve with: those tuned without its source if it was tuned on, else the
// shipped ones (held_out.cpp).
[[nodiscard]] const estimators::ForecastConstants& untuned_on(const std::string& source);

// All methods, ours first. `timed` also measures the cost of an update and of a forecast.
[[nodiscard]] std::vector<MethodScore> evaluate(const std::vector<Curve>& curves, bool timed);

// Number of points a share of the curve holds.
[[nodiscard]] std::size_t points_of(const Curve& curve, double share);
[[nodiscard]] double error_of(double loss, double loss_true);

}  // namespace laird::lab
