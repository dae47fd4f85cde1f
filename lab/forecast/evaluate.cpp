#include "lab/forecast/evaluate.hpp"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <type_traits>

#include "estimators/model/kalman.hpp"
#include "estimators/model/m4.hpp"
#include "estimators/model/wls.hpp"

namespace laird::lab {

namespace {

using estimators::ForecastConstants;
using estimators::Forecaster;

struct Answer {
  double loss;
  std::optional<double> low;
  std::optional<double> high;
};

// One estimator behind one shape: a fresh one per curve, reports in, the end out. `steps` is the
// number of reports still to come, which only the DKF asks for.
class Method {
 public:
  virtual ~Method() = default;
  virtual void observe(double samples, double loss) = 0;
  [[nodiscard]] virtual Answer at(double samples, double steps) const = 0;
};

class Ours final : public Method {
 public:
  explicit Ours(const ForecastConstants& constants) : forecaster_(constants) {}
  void observe(double samples, double loss) override { forecaster_.observe(samples, loss); }
  [[nodiscard]] Answer at(double samples, double) const override {
    const auto f = forecaster_.loss_at(samples);
    return f ? Answer{f->loss, f->low, f->high} : Answer{0.0, {}, {}};
  }

 private:
  Forecaster forecaster_;
};

class LeastSquares final : public Method {
 public:
  explicit LeastSquares(double gamma)
      : wls_(estimators::DiscountedLeastSquares::Setting{gamma, 1e-6}) {}
  void observe(double samples, double loss) override { wls_.observe(samples, loss); }
  [[nodiscard]] Answer at(double samples, double) const override {
    const double r = wls_.log_loss_at(samples);
    const double width = wls_.beta({}) * wls_.norm_at(samples);
    return {wls_.loss_at(samples), std::exp(r - width), std::exp(r + width)};
  }

 private:
  estimators::DiscountedLeastSquares wls_;
};

template <class Filter>
class Plain final : public Method {
 public:
  void observe(double samples, double loss) override { filter_.observe(samples, loss); }
  [[nodiscard]] Answer at(double samples, double steps) const override {
    if constexpr (std::is_same_v<Filter, estimators::DynamicKalmanFilter>) {
      return {filter_.loss_at(samples, steps), {}, {}};
    } else {
      (void)steps;
      return {filter_.loss_at(samples), {}, {}};
    }
  }

 private:
  Filter filter_;
};

struct Recipe {
  std::string name;
  std::string about;
  std::function<std::unique_ptr<Method>(const Curve&)> make;
};

template <class T>
[[nodiscard]] Recipe plain(std::string name, std::string about) {
  return {std::move(name), std::move(about),
          [](const Curve&) { return std::make_unique<Plain<T>>(); }};
}

[[nodiscard]] std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  all.push_back({"ours", "the forecaster, with constants tuned without the curve's source",
                 [](const Curve& c) { return std::make_unique<Ours>(untuned_on(c.source)); }});
  all.push_back(
      {"ours_in_sample", "the same with the shipped constants, tuned on all sources",
       [](const Curve&) { return std::make_unique<Ours>(estimators::shipped_constants()); }});
  all.push_back(plain<estimators::DampedTrendFilter>("dtkf", "damped trend filter in ln samples"));
  all.push_back(plain<estimators::DynamicKalmanFilter>("dkf", "LaiRA's DKF, eqs. 3-8"));
  all.push_back(plain<estimators::M4>("m4", "M4, fitted anew for each forecast"));
  all.push_back({"wls", "discounted least squares, gamma 0.7",
                 [](const Curve&) { return std::make_unique<LeastSquares>(0.7); }});
  all.push_back(
      {"ls", "least squares", [](const Curve&) { return std::make_unique<LeastSquares>(1.0); }});
  all.push_back(plain<estimators::RandomWalkFilter>("kf", "Kalman filter, random walk"));
  return all;
}

[[nodiscard]] double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return 0.5 * (values[values.size() / 2] + values[(values.size() - 1) / 2]);
}

void predict(const Recipe& recipe, const Curve& curve, std::vector<Prediction>& out) {
  const auto method = recipe.make(curve);
  std::size_t seen = 0;
  const std::size_t n = curve.samples.size();
  for (const double share : kShares) {
    const std::size_t points = points_of(curve, share);
    const std::size_t used = std::min(n - 1, std::max(points, kPointsMin));
    for (; seen < used; ++seen) method->observe(curve.samples[seen], curve.loss[seen]);
    const Answer answer = method->at(curve.samples.back(), static_cast<double>(n - used));
    out.push_back({curve.name, curve.source, curve.kind, share, points < kPointsMin, answer.loss,
                   curve.loss.back(), answer.low, answer.high});
  }
}

// A forecast of nothing or of infinity is as wrong as one by a factor of e^20.
constexpr double kLnErrorMax = 20.0;

[[nodiscard]] double ln_error_of(const Prediction& p) {
  const double off = std::fabs(std::log(p.loss / p.loss_true));
  return off <= kLnErrorMax ? off : kLnErrorMax;
}

[[nodiscard]] std::vector<MethodScore::Part> by_part(const std::vector<Prediction>& all,
                                                     std::string Prediction::*part) {
  struct Sum {
    double count = 0.0;
    double ln_error = 0.0;
    double cap = 0.0;
    double banded = 0.0;
    double covered = 0.0;
  };
  std::map<std::string, Sum> sums;
  for (const Prediction& p : all) {
    if (p.short_start) continue;
    Sum& sum = sums[p.*part];
    sum.count += 1.0;
    sum.ln_error += ln_error_of(p);
    sum.cap += std::min(error_of(p.loss, p.loss_true), kErrorCap);
    if (!p.low) continue;
    sum.banded += 1.0;
    if (*p.low <= p.loss_true && p.loss_true <= *p.high) sum.covered += 1.0;
  }
  std::vector<MethodScore::Part> out;
  for (const auto& [name, sum] : sums) {
    MethodScore::Part one{name,
                          static_cast<std::size_t>(sum.count),
                          sum.ln_error / sum.count,
                          sum.cap / sum.count,
                          {}};
    if (sum.banded > 0.0) one.coverage_90 = sum.covered / sum.banded;
    out.push_back(std::move(one));
  }
  return out;
}

void summarise(MethodScore& score) {
  std::array<std::vector<double>, kShares.size()> errors;
  std::array<double, kShares.size()> covered{};
  std::array<double, kShares.size()> banded{};
  double sum = 0.0;
  double sum_all = 0.0;
  double over = 0.0;
  double count = 0.0;
  for (const Prediction& p : score.predictions) {
    const double error = error_of(p.loss, p.loss_true);
    sum_all += std::min(error, kErrorCap);
    if (p.short_start) continue;
    const auto at = static_cast<std::size_t>(std::find(kShares.begin(), kShares.end(), p.share) -
                                             kShares.begin());
    errors[at].push_back(error);
    count += 1.0;
    sum += std::min(error, kErrorCap);
    const double ratio = p.loss / p.loss_true;
    if (!(ratio <= 10.0 && ratio >= 0.1)) over += 1.0;
    if (p.low) {
      banded[at] += 1.0;
      if (*p.low <= p.loss_true && p.loss_true <= *p.high) covered[at] += 1.0;
    }
  }
  double banded_all = 0.0;
  double covered_all = 0.0;
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    score.median[i] = median(errors[i]);
    score.coverage[i] = banded[i] > 0.0 ? covered[i] / banded[i] : std::nan("");
    banded_all += banded[i];
    covered_all += covered[i];
  }
  score.cap = sum / count;
  score.cap_all = sum_all / static_cast<double>(score.predictions.size());
  score.over_10x = over / count;
  if (banded_all > 0.0) score.coverage_90 = covered_all / banded_all;
  score.kinds = by_part(score.predictions, &Prediction::kind);
  score.sources = by_part(score.predictions, &Prediction::source);
  for (const MethodScore::Part& source : score.sources) {
    score.ln_error += source.ln_error / static_cast<double>(score.sources.size());
  }
}

// Mean cost on the longest curve, of the least disturbed repetition: updates over its first fifth,
// then forecasts of its end from there.
void measure(const Recipe& recipe, const Curve& curve, MethodScore& score) {
  constexpr int kRepetitions = 7;
  constexpr double kNsPerRepetition = 2e6;
  // Time of this thread alone: other work on the machine does not count.
  const auto now_ns = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
  };
  const std::size_t points = std::max(kPointsMin, points_of(curve, kShares.back()));
  std::vector<double> updates;
  std::vector<double> forecasts;
  volatile double sink = 0.0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    std::unique_ptr<Method> method;
    double spent = 0.0;
    double count = 0.0;
    while (spent < kNsPerRepetition) {
      method = recipe.make(curve);
      const double begin = now_ns();
      for (std::size_t i = 0; i < points; ++i) method->observe(curve.samples[i], curve.loss[i]);
      spent += now_ns() - begin;
      count += static_cast<double>(points);
    }
    updates.push_back(spent / count);
    spent = count = 0.0;
    while (spent < kNsPerRepetition) {
      // Several between two looks at the clock, which costs as much as the cheapest forecast.
      constexpr int kBurst = 32;
      const double begin = now_ns();
      for (int i = 0; i < kBurst; ++i) {
        sink = sink + method->at(curve.samples.back() + count, 100.0).loss;
        count += 1.0;
      }
      spent += now_ns() - begin;
    }
    forecasts.push_back(spent / count);
  }
  score.ns_update = *std::min_element(updates.begin(), updates.end());
  score.ns_forecast = *std::min_element(forecasts.begin(), forecasts.end());
}

}  // namespace

std::size_t points_of(const Curve& curve, double share) {
  // The shares are not binary fractions: 0.1 of 500 must be 50.
  return static_cast<std::size_t>(
      std::floor(share * static_cast<double>(curve.samples.size()) + 1e-9));
}

double error_of(double loss, double loss_true) {
  const double error = std::fabs(loss - loss_true) / loss_true;
  return std::isfinite(error) ? error : 1e9;
}

std::vector<MethodScore> evaluate(const std::vector<Curve>& curves, bool timed) {
  std::vector<MethodScore> scores;
  const auto longest = std::max_element(
      curves.begin(), curves.end(),
      [](const Curve& a, const Curve& b) { return a.samples.size() < b.samples.size(); });
  for (const Recipe& recipe : recipes()) {
    MethodScore score;
    score.name = recipe.name;
    score.about = recipe.about;
    for (const Curve& curve : curves) predict(recipe, curve, score.predictions);
    summarise(score);
    if (timed) measure(recipe, *longest, score);
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace laird::lab
