#include "estimators/model/kalman.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::estimators {

namespace {

[[nodiscard]] double log_samples(double samples) { return exact::log(std::max(1.0, samples)); }
[[nodiscard]] double bounded_exp(double v) {
  return exact::exp(std::max(-700.0, std::min(700.0, v)));
}

}  // namespace

DynamicKalmanFilter::DynamicKalmanFilter(const Setting& setting) {
  lane::dkf_scale(setting.step, setting.process.data(), constants_.process);
  lane::dkf_scale(setting.step, setting.start_variance.data(), start_variance_.data());
  constants_.observation = setting.observation;
}

Observed DynamicKalmanFilter::observe(double samples, double loss) {
  const Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  const double x = log_samples(samples);
  const double r = exact::log(loss);
  if (reports_ == 0) {
    lane::dkf_start(state_, constants_, start_variance_.data(), x, r);
  } else {
    lane::dkf_update(state_, constants_, x, x - x_, r);
  }
  x_ = x;
  samples_ = samples;
  ++reports_;
  return observed;
}

double DynamicKalmanFilter::log_loss_at(double samples, double steps) const {
  const double dx = log_samples(samples) - x_;
  return lane::dkf_look_ahead(state_.mean, steps, dx);
}

double DynamicKalmanFilter::loss_at(double samples, double steps) const {
  return bounded_exp(log_loss_at(samples, steps));
}

void DynamicKalmanFilter::archive(Archive& ar) {
  for (double& v : state_.mean) ar(v);
  for (double& v : state_.p) ar(v);
  ar(reports_);
  ar(samples_);
  ar(x_);
}

Observed RandomWalkFilter::observe(double samples, double loss) {
  const Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  const double x = log_samples(samples);
  const double r = exact::log(loss);
  if (reports_ == 0) {
    level_ = r;
    p_ss_ = setting_.start_variance;
    p_sl_ = setting_.start_variance * x;
    p_ll_ = setting_.start_variance * (1.0 + x * x);
  } else {
    const double dx = x - x_;
    level_ += dx * slope_;
    p_ll_ += dx * (2.0 * p_sl_ + dx * p_ss_);
    p_sl_ += dx * p_ss_;
  }
  p_ss_ += setting_.process;
  p_sl_ += setting_.process * x;
  p_ll_ += setting_.process * (1.0 + x * x);
  const double variance = p_ll_ + setting_.observation;
  const double gain_s = p_sl_ / variance;
  const double gain_l = p_ll_ / variance;
  const double innovation = r - level_;
  slope_ += gain_s * innovation;
  level_ += gain_l * innovation;
  p_ss_ -= gain_s * p_sl_;
  p_sl_ -= gain_s * p_ll_;
  p_ll_ -= gain_l * p_ll_;
  x_ = x;
  samples_ = samples;
  ++reports_;
  return observed;
}

double RandomWalkFilter::loss_at(double samples) const {
  return bounded_exp(level_ + slope_ * (log_samples(samples) - x_));
}

DampedTrendFilter::Moments DampedTrendFilter::ahead(double d) const {
  const Setting& c = setting_;
  const double e = exact::exp(-c.kappa * d);
  const double a = (1.0 - e) / c.kappa;
  const double q = c.slope_noise * c.slope_noise * (1.0 - e * e) / (2.0 * c.kappa);
  Moments next;
  next.level = now_.level + a * now_.slope + c.slope_mean * (d - a);
  next.slope = c.slope_mean + (now_.slope - c.slope_mean) * e;
  next.p_ll = now_.p_ll + 2.0 * a * now_.p_ls + a * a * now_.p_ss +
              c.level_noise * c.level_noise * d + q * a * a / 3.0;
  next.p_ls = (now_.p_ls + a * now_.p_ss) * e + q * a / 2.0;
  next.p_ss = now_.p_ss * e * e + q;
  return next;
}

Observed DampedTrendFilter::observe(double samples, double loss) {
  constexpr double kClip = 3.0;
  constexpr double kNoiseRate = 0.1;
  const Observed checked = check(samples_, samples, loss);
  if (!accepted(checked)) return checked;
  Observed observed = Observed::kFused;
  const double r = exact::log(loss);
  if (reports_ == 0) {
    observation_ = setting_.observation_start;
    now_ = {r, setting_.slope_start, observation_, 0.0, 1.0};
  } else {
    now_ = ahead(log_samples(samples) - log_samples(samples_));
    const double variance = now_.p_ll + observation_;
    const double limit = kClip * exact::sqrt(variance);
    double innovation = r - now_.level;
    if (innovation > limit || innovation < -limit) observed = Observed::kClipped;
    innovation = std::max(-limit, std::min(limit, innovation));
    const double gain_l = now_.p_ll / variance;
    const double gain_s = now_.p_ls / variance;
    const double excess = innovation * innovation - now_.p_ll;
    now_.level += gain_l * innovation;
    now_.slope += gain_s * innovation;
    now_.p_ss -= gain_s * now_.p_ls;
    now_.p_ls -= gain_l * now_.p_ls;
    now_.p_ll -= gain_l * now_.p_ll;
    observation_ +=
        kNoiseRate * (std::max(excess, 0.1 * setting_.observation_start) - observation_);
  }
  samples_ = samples;
  ++reports_;
  return observed;
}

double DampedTrendFilter::loss_at(double samples) const {
  const double d = log_samples(samples) - log_samples(samples_);
  return bounded_exp(ahead(std::max(0.0, d)).level);
}

}  // namespace laird::estimators
