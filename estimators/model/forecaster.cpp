#include "estimators/model/forecaster.hpp"

#include <algorithm>

#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::estimators {

namespace {

// Clipping: an error this many times its usual size is an outlier, unless it keeps coming.
constexpr double kOutlierFactor = 8.0;
constexpr std::int32_t kOutliersInRowMax = 2;
constexpr std::uint64_t kReportsBeforeClipping = 8;
constexpr double kSurpriseRate = 0.1;
constexpr double kNoiseFloor = 1e-5;

// A log-time step beyond e^8 between two reports says nothing about bends; it is walked as e^8.
constexpr double kStepMax = 8.0;
constexpr double kSlopePrior = -0.3;  // before there are two sample counts
constexpr double kTrendPart = 0.5;    // of the trend bank in the forecast

// Losses below e^kLowLevel are squared errors, which have no floor: there the forecast change is
// stretched, fully so kLowRange further down.
constexpr double kLowLevel = -1.5;
constexpr double kLowRange = 5.0;
constexpr double kLowStretch = 0.6;

constexpr double kNormal95 = 1.645;  // standard deviations to the 95% quantile
constexpr double kOddsMax = 5.0;     // of what an earlier run says: 0.7% and 99.3%
constexpr double kImprovingRate = 0.05;
constexpr std::size_t kGrid = 24;    // points of the reach table
constexpr double kChangeMax = 60.0;  // of ln loss: keeps exp() finite

[[nodiscard]] bool finite(double v) { return v - v == 0.0; }

[[nodiscard]] double clamped(double v, double low, double high) {
  return v < low ? low : v > high ? high : v;
}

}  // namespace

double width(const BandConstants& c, const Spread& s) {
  return exact::sqrt(c.level * c.level + c.noise * s.noise +
                     c.distance * c.distance * s.distance * s.distance + c.trend * s.trend +
                     c.bend * s.bend);
}

struct Forecaster::Sight {
  BendBank::Posterior bends;
  TrendBank::Summary trends;
  double origin = 0.0;   // ln loss now
  double stretch = 1.0;  // of the forecast change
};

double Forecaster::interval() const {
  // Before the interval is known the first report stands for one interval.
  return interval_ > 0.0 ? interval_ : (samples_ > 0.0 ? samples_ : 1.0);
}

double Forecaster::log_time(double samples) const { return exact::log(samples + interval()); }

double Forecaster::distance_to(double samples) const {
  if (!(samples > samples_)) return 0.0;
  const double from = interval_ > 0.0 ? log_time_ : log_time(samples_);
  return std::max(0.0, log_time(std::min(samples, kSamplesMax)) - from);
}

double Forecaster::horizon_samples(double planned_samples) const {
  if (planned_samples > 0.0) return std::max(planned_samples, samples_);
  const double interval = interval_ > 0.0 ? interval_ : 1.0;
  return std::min(kSamplesMax, kHorizonFactor * (samples_ + interval));
}

double Forecaster::clip(double r, double step, Observed& observed) {
  const double expected = bends_.expected(step);
  double error = r - expected;
  const double limit = kOutlierFactor * exact::sqrt(surprise_ + kNoiseFloor + step * step);
  observed = Observed::kFused;
  if (reports_ >= kReportsBeforeClipping && (error > limit || error < -limit) &&
      clipped_in_row_ < kOutliersInRowMax) {
    error = error > 0.0 ? limit : -limit;
    observed = Observed::kClipped;
    ++clipped_in_row_;
  } else {
    clipped_in_row_ = 0;
  }
  surprise_ += kSurpriseRate * (error * error - surprise_);
  return expected + error;
}

// What the reach model asks about the reports so far; `r` is of the one that just came.
void Forecaster::track(double r) {
  const double rate = std::max(kImprovingRate, 1.0 / static_cast<double>(reports_));
  improving_ += rate * ((r < r_last_ ? 1.0 : 0.0) - improving_);
  r_last_ = r;
  trace_.add(samples_, log_time_, trends_.level(), std::min(r, exact::log(loss_best_)));
  if (!recall_.empty()) recall_.observe(samples_, interval(), r);
}

void Forecaster::recall(const Trace& earlier) {
  digest_.forget();
  recall_.begin(earlier);
}

Observed Forecaster::observe(double samples, double loss) {
  Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  digest_.forget();
  const double r = exact::log(loss);
  if (reports_ == 0) {
    samples_ = samples_first_ = samples_best_ = samples;
    r_first_ = r_last_ = r;
    loss_best_ = loss;
  } else if (interval_ == 0.0 && samples == samples_) {
    r_first_ += (r - r_first_) / static_cast<double>(reports_ + 1);
  } else if (interval_ == 0.0) {
    interval_ = samples - samples_;
    log_time_ = log_time(samples_);
    bends_.add(r_first_);
    trends_.observe(0.0, r_first_);
    const double step = std::min(kStepMax, log_time(samples) - log_time_);
    bends_.advance(step);
    log_time_ = log_time(samples);
    bends_.add(r);
    trends_.observe(step, r);
    surprise_ = (r - r_first_) * (r - r_first_);
    samples_ = samples;
    track(r);
  } else {
    const double next = log_time(samples);
    const double step = std::min(kStepMax, std::max(0.0, next - log_time_));
    const double fused = clip(r, step, observed);
    bends_.advance(step);
    log_time_ = next;
    bends_.add(fused);
    trends_.observe(step, fused);
    samples_ = samples;
    track(fused);
  }
  loss_last_ = loss;
  // A clipped report is not evidence that a target was reached.
  if (observed == Observed::kFused && loss < loss_best_) {
    loss_best_ = loss;
    samples_best_ = samples;
  }
  ++reports_;
  return observed;
}

Forecaster::Sight Forecaster::sight() const {
  Sight sight;
  if (interval_ == 0.0) {
    sight.origin = r_first_;
    sight.bends.slope = sight.trends.slope = kSlopePrior;
    sight.bends.noise = kNoiseFloor;
  } else {
    sight.bends = bends_.posterior();
    sight.trends = trends_.summary();
    sight.origin = sight.trends.origin;
  }
  sight.stretch += kLowStretch * clamped((kLowLevel - sight.origin) / kLowRange, 0.0, 1.0);
  return sight;
}

Spread Forecaster::spread(const Sight& sight, double distance) const {
  Spread out;
  out.noise = sight.bends.noise;
  out.distance = distance;
  double change = kSlopePrior * distance;
  if (interval_ == 0.0) {
    // One point has no slope: the prior slope may as well be nothing, or twice as steep.
    out.bend = out.trend = change * change;
  } else {
    const BendBank::Outlook bend = BendBank::outlook(sight.bends, distance);
    const TrendBank::Outlook trend = sight.trends.outlook(distance);
    out.bend = bend.variance;
    out.trend = trend.variance;
    change = bend.mean - sight.origin + kTrendPart * (trend.mean - bend.mean);
  }
  out.location = sight.origin + clamped(sight.stretch * change, -kChangeMax, kChangeMax);
  return out;
}

Spread Forecaster::spread_at(double samples) const { return spread(sight(), distance_to(samples)); }

// By inverse variances, of the bands' as those of a normal distribution.
double Forecaster::recalled_weight(const Spread& own, const Recall::View& view) const {
  const double both = width(constants_->low, own) + width(constants_->high, own);
  const double deviation = both / (2.0 * kNormal95);
  const double variance = deviation * deviation;
  return variance / (variance + view.variance);
}

Forecaster::Band Forecaster::band(const Sight& sight, double samples) const {
  if (reports_ == 0) {
    const Recall::View view = recall_.at(samples, 0.0, interval());
    const double wide = kNormal95 * exact::sqrt(view.variance);
    return {view.location, wide, wide, 1.0};
  }
  const double distance = distance_to(samples);
  const Spread own = spread(sight, distance);
  Band out{own.location, width(constants_->low, own), width(constants_->high, own), 0.0};
  if (recall_.empty()) return out;
  const Recall::View view = recall_.at(samples, distance, interval());
  const double w = out.recalled = recalled_weight(own, view);
  const double wide = kNormal95 * exact::sqrt(view.variance);
  out.location += w * (view.location - own.location);
  out.low += w * (wide - out.low);
  out.high += w * (wide - out.high);
  return out;
}

double Forecaster::recalled_part(double samples) const {
  if (recall_.empty()) return 0.0;
  return reports_ == 0 ? 1.0 : band(sight(), samples).recalled;
}

std::optional<LossForecast> Forecaster::loss_at(double samples, double planned_samples) const {
  if (reports_ == 0 && recall_.empty()) return std::nullopt;
  const double end = planned_samples > 0.0 ? std::min(samples, planned_samples) : samples;
  const Band at = band(reports_ == 0 ? Sight{} : sight(), std::max(end, samples_));
  return LossForecast{exact::exp(at.location), exact::exp(at.location - at.low),
                      exact::exp(at.location + at.high)};
}

Forecaster::End Forecaster::end_of(double planned_samples, double samples_allowed) {
  const bool is_planned = planned_samples > 0.0;
  return {is_planned ? planned_samples : samples_allowed, is_planned};
}

ReachFeatures Forecaster::features(const Sight& sight, double r_target, double samples,
                                   const End& end) const {
  constexpr double kSlopeMax = 3.0;
  constexpr double kRatioMax = 20.0;
  const double distance = distance_to(samples);
  const Spread at = spread(sight, distance);
  const double lowest = exact::log(loss_best_);
  const double gap = std::max(0.0, lowest - r_target);
  const double fall = r_first_ - lowest;
  const double noise = exact::sqrt(sight.bends.noise);
  const double slope = clamped(sight.trends.slope, -kSlopeMax, kSlopeMax);
  const double drop = std::max(0.02, lowest - at.location);
  double weight_undamped = 0.0;
  double weight_stalled = 0.0;
  if (interval_ > 0.0) {
    weight_undamped = sight.trends.groups[0].weight;
    weight_stalled = sight.trends.groups[kDampings - 1].weight;
  }
  const double beyond = std::max(0.0, distance_to(end.samples) - distance);
  ReachFeatures f{};
  const auto set = [&f](Reach feature, double v) { f[static_cast<std::size_t>(feature)] = v; };
  const double both = width(constants_->low, at) + width(constants_->high, at);
  set(Reach::kStandardised, clamped((r_target - at.location) / both, -kRatioMax, kRatioMax));
  set(Reach::kPartOfDrop, clamped(gap / drop, 0.0, kRatioMax));
  set(Reach::kGap, gap);
  set(Reach::kLogGap, exact::log(0.01 + gap));
  set(Reach::kDistance, distance);
  set(Reach::kPlanned, end.is_planned ? 1.0 : 0.0);
  set(Reach::kBeyond, beyond);
  set(Reach::kFall, fall);
  set(Reach::kGapOfFall, gap / (0.05 + std::max(0.0, fall)));
  set(Reach::kStraight, gap + slope * distance);
  set(Reach::kSlope, slope);
  set(Reach::kBend,
      clamped(sight.bends.slope_short - sight.bends.slope_long, -kSlopeMax, kSlopeMax));
  set(Reach::kNoise, exact::log(0.001 + noise));
  set(Reach::kGapOfNoise, std::min(gap / (0.001 + noise), 100.0));
  set(Reach::kStale, std::max(0.0, log_time(samples_) - log_time(samples_best_)));
  set(Reach::kImproving, improving_);
  set(Reach::kLevel, sight.origin);
  set(Reach::kReports, exact::log(static_cast<double>(reports_)));
  set(Reach::kUndamped, weight_undamped);
  set(Reach::kStalled, weight_stalled);
  set(Reach::kRise, sight.origin - lowest);
  return f;
}

ReachFeatures Forecaster::reach_features(double target_loss, double samples, double planned_samples,
                                         double samples_allowed) const {
  LAIRD_REQUIRE(reports_ > 0 && target_loss > 0.0, "a report and a loss come first");
  const double at = planned_samples > 0.0 ? std::min(samples, planned_samples) : samples;
  return features(sight(), exact::log(target_loss), at, end_of(planned_samples, samples_allowed));
}

double Forecaster::probability(const Sight& sight, double r_target, double samples,
                               const End& end) const {
  double odds = 0.0;
  double w = 1.0;
  double distance = 0.0;
  if (reports_ > 0) {
    odds = log_odds(constants_->reach, features(sight, r_target, samples, end));
    distance = distance_to(samples);
  }
  if (!recall_.empty()) {
    const Recall::View view = recall_.at(samples, distance, interval());
    if (reports_ > 0) w = recalled_weight(spread(sight, distance), view);
    const auto low = reports_ > 0 ? std::optional(exact::log(loss_best_)) : std::nullopt;
    const double recalled =
        recall_.log_odds(r_target, low, samples_, samples, distance, interval());
    odds += w * (clamped(recalled, -kOddsMax, kOddsMax) - odds);
  }
  return 1.0 / (1.0 + exact::exp(-odds));
}

void Forecaster::probabilities_below(double target_loss, double planned_samples,
                                     double samples_allowed, std::span<const double> samples,
                                     std::span<double> out) const {
  LAIRD_REQUIRE(samples.size() == out.size(), "an answer per question");
  const bool is_reached = reports_ > 0 && loss_best_ <= target_loss;
  const bool is_blind = reports_ == 0 && recall_.empty();
  if (is_blind || is_reached || !(target_loss > 0.0)) {
    const double all = is_blind ? 0.5 : is_reached ? 1.0 : 0.0;
    std::fill(out.begin(), out.end(), all);
    return;
  }
  const Sight now = reports_ == 0 ? Sight{} : sight();
  const double r_target = exact::log(std::max(target_loss, kLossMin));
  const End run_end = end_of(planned_samples, samples_allowed);
  double highest = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double end = planned_samples > 0.0 ? std::min(samples[i], planned_samples) : samples[i];
    if (end > samples_) highest = std::max(highest, probability(now, r_target, end, run_end));
    out[i] = highest;
  }
}

double Forecaster::probability_below(double target_loss, double samples_at_deadline,
                                     double planned_samples) const {
  // The loss may touch the target anywhere on the way, so no moment counts less than one before.
  constexpr std::size_t kSteps = 4;
  std::array<double, kSteps> samples;
  std::array<double, kSteps> by;
  const double from = std::max(samples_, 0.0);
  const double end = planned_samples > 0.0 ? std::min(samples_at_deadline, planned_samples)
                                           : std::min(samples_at_deadline, kSamplesMax);
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double part = static_cast<double>(i + 1) / static_cast<double>(kSteps);
    samples[i] = from + part * (end - from);
  }
  samples.back() = end;
  probabilities_below(target_loss, planned_samples, end, samples, by);
  return by.back();
}

namespace {

struct ReachTable {
  std::array<double, kGrid> samples{};  // further ones
  std::array<double, kGrid> probability{};
};

// Further samples at which the probability of having reached the target passes `level`; negative
// when it never does.
[[nodiscard]] double invert(const ReachTable& table, double level) {
  double below = 0.0;
  double from = 0.0;
  for (std::size_t g = 0; g < kGrid; ++g) {
    if (table.probability[g] >= level) {
      const double gap = table.probability[g] - below;
      const double share = gap > 0.0 ? (level - below) / gap : 1.0;
      return from + share * (table.samples[g] - from);
    }
    below = table.probability[g];
    from = table.samples[g];
  }
  return -1.0;
}

}  // namespace

void Forecaster::need_quantiles(double target_loss, double planned_samples,
                                std::span<double> out) const {
  const double n = static_cast<double>(out.size());
  if (reports_ > 0 && loss_best_ <= target_loss) {
    std::fill(out.begin(), out.end(), 0.0);
    return;
  }
  if (reports_ == 0 || !(target_loss > 0.0)) {
    std::fill(out.begin(), out.end(), kNever);
    return;
  }
  ReachTable table;
  std::array<double, kGrid> at;
  const double reach = distance_to(horizon_samples(planned_samples));
  const double base = samples_ + interval();
  for (std::size_t g = 0; g < kGrid; ++g) {
    // Finer near the present, where a need of few samples is decided.
    const double share = static_cast<double>(g + 1) / static_cast<double>(kGrid);
    table.samples[g] = base * (exact::exp(reach * share * share) - 1.0);
    at[g] = samples_ + table.samples[g];
  }
  probabilities_below(target_loss, planned_samples, at.back(), at, table.probability);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double more = invert(table, (static_cast<double>(i) + 0.5) / n);
    out[i] = more < 0.0 ? kNever : more;
  }
}

NeedForecast Forecaster::samples_to_reach(double target_loss, double planned_samples) const {
  if (reports_ == 0) return {kNever, kNever, kNever, 0.5};
  if (loss_best_ <= target_loss) return {0.0, 0.0, 0.0, 1.0};
  if (!(target_loss > 0.0)) return {kNever, kNever, kNever, 0.0};
  // Ten equally likely needs: the first stands for the 5% quantile, the last for the 95%.
  std::array<double, 10> needs;
  need_quantiles(target_loss, planned_samples, needs);
  const double horizon = horizon_samples(planned_samples);
  NeedForecast result{kNever, needs.front(), needs.back(),
                      probability_below(target_loss, horizon, planned_samples)};
  const double r_target = exact::log(target_loss);
  const Sight now = sight();
  const double reach = distance_to(horizon);
  double last_distance = 0.0;
  double last_gap = band(now, samples_).location - r_target;
  for (std::size_t g = 1; g <= kGrid; ++g) {
    const double share = static_cast<double>(g) / static_cast<double>(kGrid);
    const double distance = reach * share * share;
    const double samples = (samples_ + interval()) * exact::exp(distance) - interval();
    const double gap = band(now, samples).location - r_target;
    if (gap <= 0.0) {
      const double part = last_gap > 0.0 ? last_gap / (last_gap - gap) : 0.0;
      const double at = last_distance + part * (distance - last_distance);
      result.samples = (samples_ + interval()) * (exact::exp(at) - 1.0);
      break;
    }
    last_distance = distance;
    last_gap = gap;
  }
  return result;
}

double Forecaster::slope() const {
  if (interval_ == 0.0) return 0.0;
  const Sight now = sight();
  return now.bends.slope + kTrendPart * (now.trends.slope - now.bends.slope);
}

double Forecaster::noise() const {
  return interval_ == 0.0 ? 0.0 : exact::sqrt(bends_.posterior().noise);
}

bool Forecaster::all_finite() const {
  return finite(samples_) && finite(samples_first_) && finite(interval_) && finite(log_time_) &&
         finite(r_first_) && finite(loss_best_) && finite(loss_last_) && finite(surprise_) &&
         finite(samples_best_) && finite(improving_) && finite(r_last_) && bends_.all_finite() &&
         trends_.all_finite() && trace_.is_sound() && recall_.is_sound();
}

void Forecaster::archive(Archive& ar) {
  ar.part(digest_, [this](Archive& alone) {
    const bool with_trends = alone.since(5);
    const bool with_lows = alone.since(7);
    alone.run([&](auto& to) {
      to(reports_, samples_, samples_first_, interval_, log_time_);
      to(r_first_, loss_best_, loss_last_, surprise_, clipped_in_row_);
      bends_.tell(to);
      if (!with_trends) return;
      to(samples_best_, improving_, r_last_);
      trace_.tell(to, with_lows);
      recall_.tell(to, with_lows);
      trends_.tell(to);
    });
  });
  if (!ar.reading()) return;
  if (!ar.since(5)) begin_trends();
  if (!ar.since(7)) {
    trace_.assume_lows();
    recall_.assume_lows();
  }
  if (!all_finite()) ar.fail();
}

// From a journal whose format had none: they start at the latest report.
void Forecaster::begin_trends() {
  trends_ = {};
  samples_best_ = samples_;
  r_last_ = loss_last_ > 0.0 ? exact::log(loss_last_) : 0.0;
  if (interval_ > 0.0) trends_.observe(0.0, r_last_);
}

}  // namespace laird::estimators
