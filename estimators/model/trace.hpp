// A learning curve thinned to a few points, and what an earlier run says about the next one.
//
// Source: ours. A run keeps its curve as at most kTracePoints points, spread evenly over log-time;
// when they are full every second one goes. A run of the same task before it, last night or with
// another seed, is the strongest forecast there is: at the same sample count it stood there.
// Symbols: s samples; r ln loss; R(s) the earlier curve, a line in ln(s + B) between its points and
// level beyond its last; M(s) likewise the lowest it had reported; e = r - R(s) of a report; V the
// running mean square of e and o its running mean; m the lowest r of this run so far. The recalled
// forecast at log-distance d is R(s') + o / (1 + d) with variance floor + V (1 + d / 4): where this
// run stands off its predecessor it tends back to it. A target is touched by the lowest report and
// not by the level, so that question is asked of M(s') + (m - M(s)) / (1 + d).
// A drifted run (other data, another rate) shows in V within a few reports, and the forecaster
// weighs what is recalled by its variance.
// Deterministic to the bit on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/archive.hpp"

namespace laird::estimators {

inline constexpr std::size_t kTracePoints = 24;

class Trace {
 public:
  struct Point {
    double samples = 0.0;
    double r = 0.0;    // the level of ln loss there
    double low = 0.0;  // ln of the lowest loss reported up to there
  };
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return count_; }
  // `log_time` is that of the samples; both ascend.
  void add(double samples, double log_time, double r, double low);
  // `interval`: B of the run that asks.
  [[nodiscard]] double at(double samples, double interval) const;
  [[nodiscard]] double lowest_by(double samples, double interval) const;

  [[nodiscard]] bool is_sound() const;  // finite, ascending, of a size that fits
  // `with_lows`: since format 7 of journals.
  template <class To>
  void tell(To& to, bool with_lows) {
    to(count_, gap_, log_time_last_kept_);
    for (Point& p : points_) {
      to(p.samples, p.r);
      if (with_lows) to(p.low);
    }
  }
  // What a trace without them leaves to assume: that the level was the lowest where it was.
  void assume_lows();

 private:
  [[nodiscard]] double between(double Point::*value, double samples, double interval) const;

  std::uint32_t count_ = 0;
  double gap_ = 0.0;                 // of log-time between points; doubled when they are full
  double log_time_last_kept_ = 0.0;  // of the last point but one, which is there to stay
  std::array<Point, kTracePoints> points_{};
};

class Recall {
 public:
  struct View {
    double location = 0.0;
    double variance = 0.0;
  };
  [[nodiscard]] bool empty() const { return earlier_.empty(); }
  void begin(const Trace& earlier);
  // A report of the run that recalls.
  void observe(double samples, double interval, double r);
  // Where the earlier run makes one expect r at `samples`.
  [[nodiscard]] View at(double samples, double distance, double interval) const;
  // That r is touched on the way from one sample count to the other. `low`: ln of the lowest loss
  // of the run that recalls; nothing before its first report.
  [[nodiscard]] double log_odds(double r_target, std::optional<double> low, double from, double to,
                                double distance, double interval) const;
  [[nodiscard]] bool is_sound() const;
  template <class To>
  void tell(To& to, bool with_lows) {
    to(error_, offset_);
    earlier_.tell(to, with_lows);
  }
  void assume_lows() { earlier_.assume_lows(); }

 private:
  double error_ = 0.0;   // V
  double offset_ = 0.0;  // o
  Trace earlier_;
};

}  // namespace laird::estimators
