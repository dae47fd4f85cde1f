#include "estimators/model/trace.hpp"

#include <algorithm>

#include "base/exact_math.hpp"

namespace laird::estimators {

namespace {

constexpr double kGapStart = 0.02;
// Round numbers of ours: folds and restarts of one script lie .04 to .07 apart in ln loss, runs
// whose settings differ a little .3.
constexpr double kErrorStart = 0.02;
constexpr double kVarianceFloor = 0.003;
constexpr double kRate = 0.25;
constexpr double kFarther = 0.25;  // the variance grows by this part per unit of log-time
constexpr double kErrorMax = 100.0;

[[nodiscard]] bool finite(double v) { return v - v == 0.0; }

}  // namespace

void Trace::add(double samples, double log_time, double r, double low) {
  if (count_ == 0) gap_ = kGapStart;
  // The last point is always the latest report; it stays once it is far enough from the one before.
  const bool is_same = count_ >= 1 && samples <= points_[count_ - 1].samples;
  const bool replaces = is_same || (count_ >= 2 && log_time - log_time_last_kept_ < gap_);
  if (replaces) {
    points_[count_ - 1] = {samples, r, low};
    return;
  }
  if (count_ == kTracePoints) {
    for (std::uint32_t i = 0; i < kTracePoints / 2; ++i) points_[i] = points_[2 * i + 1];
    count_ = kTracePoints / 2;
    gap_ *= 2.0;
  }
  points_[count_++] = {samples, r, low};
  log_time_last_kept_ = log_time;
}

double Trace::between(double Point::*value, double samples, double interval) const {
  if (count_ == 0) return 0.0;
  if (samples <= points_[0].samples) return points_[0].*value;
  if (samples >= points_[count_ - 1].samples) return points_[count_ - 1].*value;
  std::uint32_t next = 1;
  while (points_[next].samples < samples) ++next;
  const Point& a = points_[next - 1];
  const Point& b = points_[next];
  const double from = exact::log(a.samples + interval);
  const double part =
      (exact::log(samples + interval) - from) / (exact::log(b.samples + interval) - from);
  return a.*value + part * (b.*value - a.*value);
}

double Trace::at(double samples, double interval) const {
  return between(&Point::r, samples, interval);
}

double Trace::lowest_by(double samples, double interval) const {
  return between(&Point::low, samples, interval);
}

void Trace::assume_lows() {
  for (std::uint32_t i = 0; i < count_; ++i) {
    points_[i].low = i > 0 ? std::min(points_[i - 1].low, points_[i].r) : points_[i].r;
  }
}

bool Trace::is_sound() const {
  if (count_ > kTracePoints || !finite(gap_) || !finite(log_time_last_kept_)) return false;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Point& p = points_[i];
    if (!finite(p.samples) || !finite(p.r) || !finite(p.low) || p.samples < 0.0) return false;
    if (i > 0 && !(points_[i].samples > points_[i - 1].samples)) return false;
  }
  return true;
}

void Recall::begin(const Trace& earlier) {
  earlier_ = earlier;
  error_ = kErrorStart;
  offset_ = 0.0;
}

void Recall::observe(double samples, double interval, double r) {
  const double e = r - earlier_.at(samples, interval);
  error_ += kRate * (std::min(e * e, kErrorMax) - error_);
  offset_ += kRate * (e - offset_);
}

Recall::View Recall::at(double samples, double distance, double interval) const {
  return {earlier_.at(samples, interval) + offset_ / (1.0 + distance),
          kVarianceFloor + error_ * (1.0 + kFarther * distance)};
}

double Recall::log_odds(double r_target, std::optional<double> low, double from, double to,
                        double distance, double interval) const {
  const double gap = low ? *low - earlier_.lowest_by(from, interval) : 0.0;
  const double lowest = earlier_.lowest_by(to, interval) + gap / (1.0 + distance);
  const double variance = kVarianceFloor + error_ * (1.0 + kFarther * distance);
  // A logistic distribution with the variance of a normal one: 1.7 is near pi / sqrt(3).
  return 1.7 * (r_target - lowest) / exact::sqrt(variance);
}

bool Recall::is_sound() const { return finite(error_) && finite(offset_) && earlier_.is_sound(); }

}  // namespace laird::estimators
