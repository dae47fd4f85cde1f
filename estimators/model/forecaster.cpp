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

// A log-time step beyond e^8 between two reports says nothing about bends; it is walked as e^8.
constexpr double kStepMax = 8.0;

constexpr std::size_t kStraight = 2;  // the hypothesis without a bend
static_assert(kBendGrid[kStraight] == 0.0);

constexpr std::size_t kGrid = 24;  // points of the reach table

[[nodiscard]] bool finite(double v) { return v - v == 0.0; }

// phi_k(t) = (1 - e^(-k t)) / k; the caller knows k is on the grid, so k = 0 is exact.
[[nodiscard]] double phi(double bend, double t) {
  return bend == 0.0 ? t : (1.0 - exact::exp(-bend * t)) / bend;
}

// Cumulative distribution of the standardised error: linear between the calibrated quantiles,
// exponential beyond them with the density continued.
[[nodiscard]] double error_cdf(const ForecastConstants& c, double z) {
  const auto& q = c.error_quantiles;
  const auto& p = kErrorLevels;
  constexpr std::size_t n = kErrorLevels.size();
  if (z <= q[0]) {
    const double density = (p[1] - p[0]) / (q[1] - q[0]);
    return p[0] * exact::exp((z - q[0]) * density / p[0]);
  }
  if (z >= q[n - 1]) {
    const double density = (p[n - 1] - p[n - 2]) / (q[n - 1] - q[n - 2]);
    const double tail = 1.0 - p[n - 1];
    return 1.0 - tail * exact::exp((q[n - 1] - z) * density / tail);
  }
  std::size_t i = 1;
  while (z > q[i]) ++i;
  return p[i - 1] + (p[i] - p[i - 1]) * (z - q[i - 1]) / (q[i] - q[i - 1]);
}

// The probability of having touched the target by the time the loss is below it with probability p.
// A path that ends above may have been below before: for one without drift the reflection principle
// doubles p; curves drift, and half of that is what real ones do (Brier score of "reached by the
// end" on held-out curves 0.184 instead of 0.209).
[[nodiscard]] double touched(double p) { return p + 0.5 * p * (1.0 - p); }

}  // namespace

struct Forecaster::Posterior {
  struct Hypothesis {
    double weight = 0.0;
    double level = 0.0;
    double slope = 0.0;
  };
  std::array<std::array<Hypothesis, kBends>, kMemories> all{};
  double noise = 0.0;  // variance of the residuals
};

struct Forecaster::Outlook {
  double location;
  double scale;
};

double Forecaster::log_time(double samples) const {
  // Before the interval is known the first report stands for one interval.
  const double interval = interval_ > 0.0 ? interval_ : (samples_ > 0.0 ? samples_ : 1.0);
  return exact::log(samples + constants_->shift * interval);
}

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

// Moves "now" forward by `step` in log-time: weights fade, regressors keep their meaning.
void Forecaster::advance(double step) {
  std::array<double, kBends> stretch;
  std::array<double, kBends> offset;
  for (std::size_t k = 0; k < kBends; ++k) {
    stretch[k] = exact::exp(kBendGrid[k] * step);
    offset[k] = phi(kBendGrid[k], -step);
  }
  const ForecastConstants& c = *constants_;
  double memory = c.memory_mid / c.memory_ratio;
  for (Memory& m : memories_) {
    const double fade = exact::exp(-memory * step);
    memory *= c.memory_ratio;
    m.weight *= fade;
    m.weight_squared *= fade * fade;
    m.rr *= fade;
    for (std::size_t k = 0; k < kBends; ++k) {
      Regression& b = m.bends[k];
      b.x_mean = b.x_mean * stretch[k] + offset[k];
      b.xx *= fade * stretch[k] * stretch[k];
      b.xr *= fade * stretch[k];
    }
  }
}

// Adds a report made now, where every regressor is phi(0) = 0, with weight 1.
void Forecaster::add(double r) {
  for (Memory& m : memories_) {
    const double before = m.weight;
    m.weight += 1.0;
    m.weight_squared += 1.0;
    const double share = before / m.weight;
    const double dr = r - m.r_mean;
    m.r_mean += dr / m.weight;
    m.rr += share * dr * dr;
    for (Regression& b : m.bends) {
      const double dx = -b.x_mean;
      b.xx += share * dx * dx;
      b.xr += share * dx * dr;
      b.x_mean += dx / m.weight;
    }
  }
}

double Forecaster::clip(double r, double step, Observed& observed) {
  // The straight line of the middle memory is near enough to tell an outlier, and cheap.
  const Memory& m = memories_[kMemories / 2];
  const Regression& line = m.bends[kStraight];
  const double slope =
      (line.xr + constants_->ridge * constants_->slope_prior) / (line.xx + constants_->ridge);
  const double expected = m.r_mean + slope * (step - line.x_mean);
  double error = r - expected;
  const double limit =
      kOutlierFactor * exact::sqrt(surprise_ + constants_->noise_floor + step * step);
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

Observed Forecaster::observe(double samples, double loss) {
  Observed observed = check(samples_, samples, loss);
  if (!accepted(observed)) return observed;
  digest_.forget();
  const double r = exact::log(loss);
  if (reports_ == 0) {
    samples_ = samples_first_ = samples;
    r_first_ = r;
    loss_best_ = loss;
  } else if (interval_ == 0.0 && samples == samples_) {
    r_first_ += (r - r_first_) / static_cast<double>(reports_ + 1);
  } else if (interval_ == 0.0) {
    interval_ = samples - samples_;
    log_time_ = log_time(samples_);
    add(r_first_);
    const double step = std::min(kStepMax, log_time(samples) - log_time_);
    advance(step);
    log_time_ = log_time(samples);
    add(r);
    surprise_ = (r - r_first_) * (r - r_first_);
    samples_ = samples;
  } else {
    const double next = log_time(samples);
    const double step = std::min(kStepMax, std::max(0.0, next - log_time_));
    const double fused = clip(r, step, observed);
    advance(step);
    log_time_ = next;
    add(fused);
    samples_ = samples;
  }
  loss_last_ = loss;
  // A clipped report is not evidence that a target was reached.
  if (observed == Observed::kFused) loss_best_ = std::min(loss_best_, loss);
  ++reports_;
  return observed;
}

Forecaster::Posterior Forecaster::posterior() const {
  Posterior result;
  const ForecastConstants& c = *constants_;
  if (interval_ == 0.0) {
    result.all[0][0] = {1.0, r_first_, c.slope_prior};
    result.noise = c.noise_floor;
    return result;
  }
  for (std::size_t i = 0; i < kMemories; ++i) {
    const Memory& m = memories_[i];
    const double reports_effective = m.weight * m.weight / m.weight_squared;
    const double power = 0.5 * c.likelihood_power * std::max(0.2, reports_effective - c.dof_offset);
    const double correction = reports_effective / std::max(0.5, reports_effective - 2.0);
    std::array<double, kBends> variance;
    double variance_min = 0.0;
    for (std::size_t k = 0; k < kBends; ++k) {
      const Regression& b = m.bends[k];
      // Variance of the noise as the free fit leaves it, by its degrees of freedom.
      const double explained = b.xx > 0.0 ? b.xr * b.xr / b.xx : 0.0;
      const double noise = std::max(0.0, m.rr - explained) / m.weight * correction;
      const double ridge = c.ridge + c.slope_precision * noise;
      const double slope = (b.xr + ridge * c.slope_prior) / (b.xx + ridge);
      const double residual = m.rr - 2.0 * slope * b.xr + slope * slope * b.xx;
      variance[k] = std::max(0.0, residual) / m.weight + c.noise_floor;
      variance_min = k == 0 ? variance[k] : std::min(variance_min, variance[k]);
      result.all[i][k] = {0.0, m.r_mean - slope * b.x_mean, slope};
    }
    double total = 0.0;
    for (std::size_t k = 0; k < kBends; ++k) {
      const double weight = exact::exp(power * exact::log(variance_min / variance[k]));
      result.all[i][k].weight = weight;
      total += weight;
    }
    for (std::size_t k = 0; k < kBends; ++k) {
      result.all[i][k].weight /= total * static_cast<double>(kMemories);
      result.noise += result.all[i][k].weight * variance[k];
    }
  }
  return result;
}

Forecaster::Outlook Forecaster::outlook(const Posterior& posterior, double distance) const {
  const ForecastConstants& c = *constants_;
  double mean = 0.0;
  double square = 0.0;
  // Offsets from one level, so that the variance does not cancel.
  const double origin = posterior.all[0][0].level;
  for (std::size_t k = 0; k < kBends; ++k) {
    // With one distinct sample count only the prior stands at [0][0]: a straight line.
    const double x = interval_ == 0.0 ? distance : phi(kBendGrid[k], distance);
    for (std::size_t i = 0; i < kMemories; ++i) {
      const Posterior::Hypothesis& h = posterior.all[i][k];
      const double change = std::max(-c.drop_max, std::min(c.rise_max, h.slope * x));
      const double value = h.level - origin + change;
      mean += h.weight * value;
      square += h.weight * value * value;
    }
  }
  double variance = std::max(0.0, square - mean * mean);
  // One point has no slope: the prior slope may as well be nothing, or twice as steep.
  if (interval_ == 0.0) variance = mean * mean;
  const double scale_squared = c.scale_level * c.scale_level + c.scale_noise * posterior.noise +
                               c.scale_distance * c.scale_distance * distance * distance +
                               c.scale_bank * variance;
  return {origin + mean - c.caution * variance, exact::sqrt(scale_squared)};
}

std::optional<LossForecast> Forecaster::loss_at(double samples, double planned_samples) const {
  if (reports_ == 0) return std::nullopt;
  const double end = planned_samples > 0.0 ? std::min(samples, planned_samples) : samples;
  const Outlook at = outlook(posterior(), distance_to(end));
  const ForecastConstants& c = *constants_;
  static_assert(kErrorLevels[1] == 0.05 && kErrorLevels[kErrorLevels.size() - 2] == 0.95);
  return LossForecast{
      exact::exp(at.location), exact::exp(at.location + at.scale * c.error_quantiles[1]),
      exact::exp(at.location + at.scale * c.error_quantiles[kErrorLevels.size() - 2])};
}

double Forecaster::probability_below(double target_loss, double samples_at_deadline,
                                     double planned_samples) const {
  if (reports_ == 0) return 0.5;
  if (loss_best_ <= target_loss) return 1.0;
  if (!(target_loss > 0.0)) return 0.0;
  const double end =
      planned_samples > 0.0 ? std::min(samples_at_deadline, planned_samples) : samples_at_deadline;
  const double distance = distance_to(end);
  if (!(distance > 0.0)) return 0.0;
  const double r_target = exact::log(target_loss);
  const Posterior now = posterior();
  // The loss is allowed to touch the target anywhere on the way: forecasts may rise again.
  constexpr int kSteps = 6;
  double best = 0.0;
  for (int i = 1; i <= kSteps; ++i) {
    const Outlook at = outlook(now, distance * i / kSteps);
    best = std::max(best, error_cdf(*constants_, (r_target - at.location) / at.scale));
  }
  return touched(best);
}

namespace {

struct ReachTable {
  std::array<double, kGrid + 1> distance{};
  std::array<double, kGrid + 1> probability{};
};

// Log-distance at which the probability of having reached the target passes `level`; negative when
// it never does.
[[nodiscard]] double invert(const ReachTable& table, double level) {
  for (std::size_t g = 1; g <= kGrid; ++g) {
    if (table.probability[g] < level) continue;
    const double below = table.probability[g - 1];
    const double gap = table.probability[g] - below;
    const double share = gap > 0.0 ? (level - below) / gap : 1.0;
    return table.distance[g - 1] + share * (table.distance[g] - table.distance[g - 1]);
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
  const double r_target = exact::log(target_loss);
  const Posterior now = posterior();
  ReachTable table;
  const double reach = distance_to(horizon_samples(planned_samples));
  for (std::size_t g = 1; g <= kGrid; ++g) {
    // Finer near the present, where a need of few samples is decided.
    const double share = static_cast<double>(g) / static_cast<double>(kGrid);
    table.distance[g] = reach * share * share;
    const Outlook at = outlook(now, table.distance[g]);
    const double below = error_cdf(*constants_, (r_target - at.location) / at.scale);
    table.probability[g] = std::max(table.probability[g - 1], touched(below));
  }
  const double interval = interval_ > 0.0 ? interval_ : (samples_ > 0.0 ? samples_ : 1.0);
  const double base = samples_ + constants_->shift * interval;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double distance = invert(table, (static_cast<double>(i) + 0.5) / n);
    out[i] = distance < 0.0 ? kNever : base * (exact::exp(distance) - 1.0);
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
  const Posterior now = posterior();
  const double reach = distance_to(horizon);
  double last_distance = 0.0;
  double last_gap = outlook(now, 0.0).location - r_target;
  for (std::size_t g = 1; g <= kGrid; ++g) {
    const double share = static_cast<double>(g) / static_cast<double>(kGrid);
    const double distance = reach * share * share;
    const double gap = outlook(now, distance).location - r_target;
    if (gap <= 0.0) {
      const double part = last_gap > 0.0 ? last_gap / (last_gap - gap) : 0.0;
      const double at = last_distance + part * (distance - last_distance);
      const double interval = interval_ > 0.0 ? interval_ : (samples_ > 0.0 ? samples_ : 1.0);
      result.samples = (samples_ + constants_->shift * interval) * (exact::exp(at) - 1.0);
      break;
    }
    last_distance = distance;
    last_gap = gap;
  }
  return result;
}

double Forecaster::slope() const {
  if (interval_ == 0.0) return 0.0;
  const Posterior now = posterior();
  double slope = 0.0;
  for (const auto& memory : now.all) {
    for (const auto& h : memory) slope += h.weight * h.slope;
  }
  return slope;
}

double Forecaster::noise() const { return interval_ == 0.0 ? 0.0 : exact::sqrt(posterior().noise); }

bool Forecaster::all_finite() const {
  bool all = finite(samples_) && finite(samples_first_) && finite(interval_) && finite(log_time_) &&
             finite(r_first_) && finite(loss_best_) && finite(loss_last_) && finite(surprise_);
  for (const Memory& m : memories_) {
    all = all && finite(m.weight) && finite(m.weight_squared) && finite(m.r_mean) && finite(m.rr);
    for (const Regression& b : m.bends)
      all = all && finite(b.x_mean) && finite(b.xx) && finite(b.xr);
  }
  return all;
}

void Forecaster::archive(Archive& ar) {
  ar.part(digest_, [this](Archive& alone) {
    alone.run([this](auto& to) {
      to(reports_, samples_, samples_first_, interval_, log_time_);
      to(r_first_, loss_best_, loss_last_, surprise_, clipped_in_row_);
      for (Memory& m : memories_) {
        to(m.weight, m.weight_squared, m.r_mean, m.rr);
        for (Regression& b : m.bends) to(b.x_mean, b.xx, b.xr);
      }
    });
  });
  if (ar.reading() && !all_finite()) ar.fail();
}

}  // namespace laird::estimators
