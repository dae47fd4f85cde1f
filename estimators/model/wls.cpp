#include "estimators/model/wls.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::estimators {

namespace {

[[nodiscard]] double log_samples(double samples) { return exact::log(std::max(1.0, samples)); }

}  // namespace

Observed DiscountedLeastSquares::observe(double samples, double loss) {
  const Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  const double x = log_samples(samples);
  const double r = exact::log(loss);
  const double faded = setting_.gamma * weight_;
  weight_ = faded + 1.0;
  gamma_power_squared_ *= setting_.gamma * setting_.gamma;
  const double dx = x - x_mean_;
  const double dr = r - r_mean_;
  const double share = faded / weight_;
  xx_ = setting_.gamma * xx_ + share * dx * dx;
  xr_ = setting_.gamma * xr_ + share * dx * dr;
  x_mean_ += dx / weight_;
  r_mean_ += dr / weight_;
  x_last_ = x;
  samples_ = samples;
  ++reports_;
  return observed;
}

// theta = V^-1 b with the sums written by their centred parts: Sxx = xx + W mx^2 and so on; what is
// left of the determinant W Cxx + lambda (...) has no cancellation.
double DiscountedLeastSquares::slope() const {
  const double l = setting_.lambda;
  const double s_xx = xx_ + weight_ * x_mean_ * x_mean_;
  const double s_xr = xr_ + weight_ * x_mean_ * r_mean_;
  const double determinant = weight_ * xx_ + l * (s_xx + weight_ + l);
  if (!(determinant > 0.0)) return 0.0;
  return (weight_ * xr_ + l * s_xr) / determinant;
}

double DiscountedLeastSquares::intercept() const {
  if (reports_ == 0) return 0.0;
  return weight_ * (r_mean_ - x_mean_ * slope()) / (weight_ + setting_.lambda);
}

double DiscountedLeastSquares::log_loss_at(double samples) const {
  return slope() * log_samples(samples) + intercept();
}

double DiscountedLeastSquares::loss_at(double samples) const {
  return exact::exp(std::max(-700.0, std::min(700.0, log_loss_at(samples))));
}

double DiscountedLeastSquares::beta(const Confidence& c) const {
  const double l = setting_.lambda;
  const double gamma_squared = setting_.gamma * setting_.gamma;
  const double length_squared = x_last_ * x_last_ + 1.0;
  const double sum = gamma_squared < 1.0 ? (1.0 - gamma_power_squared_) / (1.0 - gamma_squared)
                                         : static_cast<double>(reports_);
  const double inside =
      2.0 * exact::log(1.0 / c.delta) + 2.0 * exact::log(1.0 + length_squared * sum / (2.0 * l));
  return exact::sqrt(l) * c.theta_max + c.noise_max * exact::sqrt(inside);
}

double DiscountedLeastSquares::norm_at(double samples) const {
  const double l = setting_.lambda;
  const double x = log_samples(samples);
  const double s_xx = xx_ + weight_ * x_mean_ * x_mean_;
  const double determinant = weight_ * xx_ + l * (s_xx + weight_ + l);
  // X^T adj(V) X with V = [[Sxx + l, W mx], [W mx, W + l]], written by the distance from the mean.
  const double off = x - x_mean_;
  const double quadratic = weight_ * off * off + xx_ + l * (x * x + 1.0);
  return exact::sqrt(quadratic / determinant);
}

double DiscountedLeastSquares::log_loss_lower(double samples, const Confidence& c) const {
  return log_loss_at(samples) - beta(c) * norm_at(samples);
}

void DiscountedLeastSquares::archive(Archive& ar) {
  ar(reports_);
  for (double* v :
       {&samples_, &weight_, &gamma_power_squared_, &x_last_, &x_mean_, &r_mean_, &xx_, &xr_}) {
    ar(*v);
  }
}

double required_rate(double loss, double target_loss, double samples, double samples_more,
                     double interval) {
  if (loss <= target_loss) return 0.0;
  const double from = std::max({samples, interval, 1.0});
  if (!(samples_more > 0.0) || !(target_loss > 0.0)) return kRateNever;
  const double distance = exact::log((from + samples_more) / from);
  if (!(distance > 0.0)) return kRateNever;
  return exact::log(loss / target_loss) / distance;
}

double predicted_rate(const DiscountedLeastSquares& wls, double loss, double samples,
                      double samples_more, double interval,
                      const DiscountedLeastSquares::Confidence& confidence) {
  if (wls.reports() < 2 || !(samples_more > 0.0) || !(loss > 0.0)) return 0.0;
  const double from = std::max({samples, interval, 1.0});
  const double distance = exact::log((from + samples_more) / from);
  if (!(distance > 0.0)) return 0.0;
  const double lower = wls.log_loss_lower(from + samples_more, confidence);
  return (exact::log(loss) - lower) / distance;
}

}  // namespace laird::estimators
