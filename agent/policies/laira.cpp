#include "agent/policies/laira.hpp"

#include <algorithm>

#include "agent/policies/keyed_list.hpp"
#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::policies {
namespace {

constexpr std::uint64_t kProbeReports = 2;
constexpr double kSlicesStart = 10.0;  // M_1
constexpr double kSlicesMax = 60.0;
constexpr double kProportional = 20.0;  // K_p, slices per unit of ln loss
constexpr double kDerivative = 5.0;     // K_d
constexpr std::uint32_t kSlicesFixed = 4;
constexpr std::uint32_t kReprobeEvery = 20;
constexpr estimators::DiscountedLeastSquares::Confidence kConfidence{0.1, 1.0, 0.02};

[[nodiscard]] double distance(double a, double b) { return a < b ? b - a : a - b; }
[[nodiscard]] double log_samples(double samples) { return exact::log(std::max(1.0, samples)); }

}  // namespace

void Laira::Curve::archive(Archive& ar) {
  ar(key);
  ar(look_ahead);
  ar(immediate);
  ar(score);
  ar(excess);
}

void Laira::LaneMemory::archive(Archive& ar) {
  ar(task);
  ar(slices);
  for (double& e : error) ar(e);
  ar(count);
  ar(slope);
  ar(intercept);
  ar(samples);
}

void Laira::observe(const core::Task& task) {
  Curve& curve = entry_of(curves_, task.key);
  const auto samples = static_cast<double>(task.samples);
  // Refused reports leave both as they were.
  static_cast<void>(curve.look_ahead.observe(samples, task.loss));
  static_cast<void>(curve.immediate.observe(samples, task.loss));
}

void Laira::forget(core::TaskKey key) {
  std::erase_if(curves_, [key](const Curve& c) { return c.key == key; });
}

// Eq. 10 and the PD law, with the sign the prose gives it.
void Laira::adapt_slice(const LaneView& view, LaneMemory& memory) {
  if (!form_.adaptive_slices || memory.task == 0) return;
  for (const Candidate& c : view.candidates) {
    const core::Task& task = *c.task;
    const auto samples = static_cast<double>(task.samples);
    if (task.key != memory.task || samples <= memory.samples || !(task.loss > 0.0)) continue;
    const double predicted = memory.intercept + memory.slope * log_samples(samples);
    memory.error[2] = memory.error[1];
    memory.error[1] = memory.error[0];
    memory.error[0] = distance(predicted, exact::log(task.loss));
    if (++memory.count < kSlicesFixed) return;
    const double* e = memory.error;
    const double change = kProportional * (e[0] - e[1]) + kDerivative * (e[0] - 2.0 * e[1] + e[2]);
    memory.slices = std::clamp(memory.slices - change, 1.0, kSlicesMax);
    return;
  }
}

// Eq. 8: the loss at the deadline if the task had the lane until then, over its target.
void Laira::look_ahead(const LaneView& view, const core::Task& task, Curve& curve) const {
  const auto samples = static_cast<double>(task.samples);
  const auto every = static_cast<double>(task.spec.report_every);
  Curve::Known& known = curve.known;
  if (known.reports != curve.immediate.reports() || known.samples != task.samples ||
      known.loss != task.loss) {
    known.reports = curve.immediate.reports();
    known.samples = task.samples;
    known.loss = task.loss;
    curve.predicted.samples_more = -1.0;
    known.log_target = exact::log(std::max(task.spec.target_loss, estimators::kLossMin));
    known.log_samples = log_samples(std::max(samples, every));
    known.drop_left = task.loss > 0.0 ? exact::log(task.loss) - known.log_target : 0.0;
  }
  const double more = task.rate * static_cast<double>(view.lane_time_until(task.deadline_at)) / 1e9;
  curve.excess = curve.look_ahead.log_loss_at(samples + more, more / every) - known.log_target;
}

// The score of eq. 13, from eqs. 11 and 12.
void Laira::evaluate(const LaneView& view, const core::Task& task, double slices,
                     Curve& curve) const {
  const auto samples = static_cast<double>(task.samples);
  const auto every = static_cast<double>(task.spec.report_every);
  const double more = task.rate * static_cast<double>(view.lane_time_until(task.deadline_at)) / 1e9;
  const double distance = log_samples(std::max(samples, every) + more) - curve.known.log_samples;
  const double required = curve.known.drop_left / std::max(distance, 1e-12);
  double rate = -curve.immediate.slope();
  if (form_.confidence) {
    const double next = std::max(1.0, task.rate * slices * static_cast<double>(view.slice) / 1e9);
    Curve::Predicted& predicted = curve.predicted;
    if (predicted.samples_more != next) {
      predicted = {next, estimators::predicted_rate(curve.immediate, task.loss, samples, next,
                                                    every, kConfidence)};
    }
    rate = predicted.rate;
  }
  curve.score = rate / std::max(required, 1e-12);
}

void Laira::decide(const LaneView& view, Decision& out) {
  LAIRD_REQUIRE(view.lane < lanes_.size(), "a lane beyond the limit");
  LaneMemory& memory = lanes_[view.lane];
  adapt_slice(view, memory);
  const double slices = static_cast<double>(
      static_cast<std::int64_t>(form_.adaptive_slices ? memory.slices : kSlicesStart));
  const core::Task* unknown = nullptr;   // gap 2
  const core::Task* best = nullptr;      // feasible, highest score
  const core::Task* nearest = nullptr;   // gap 4: least excess
  const core::Task* excluded = nullptr;  // gap 3: waited longest
  double best_score = 0.0;
  double least_excess = 0.0;
  std::size_t at = 0;  // candidates and curves are both ascending by key
  for (const Candidate& c : view.candidates) {
    const core::Task& task = *c.task;
    while (at < curves_.size() && curves_[at].key < task.key) ++at;
    if (at == curves_.size() || curves_[at].key != task.key) {
      static_cast<void>(entry_of(curves_, task.key));  // goes in right here
    }
    Curve& curve = curves_[at];
    if (curve.immediate.reports() < kProbeReports || !(task.rate > 0.0)) {
      if (unknown == nullptr) unknown = &task;
      continue;
    }
    look_ahead(view, task, curve);
    if (nearest == nullptr || curve.excess < least_excess) {
      nearest = &task;
      least_excess = curve.excess;
    }
    if (form_.look_ahead && curve.excess > 0.0) {
      if (excluded == nullptr || task.grant_at < excluded->grant_at) excluded = &task;
      continue;
    }
    evaluate(view, task, slices, curve);
    if (best != nullptr && curve.score <= best_score) continue;
    best = &task;
    best_score = curve.score;
  }
  const bool reprobing = excluded != nullptr && (memory.count + 1) % kReprobeEvery == 0;
  const core::Task* chosen = unknown != nullptr ? unknown
                             : reprobing        ? excluded
                             : best != nullptr  ? best
                                                : nearest;
  LAIRD_REQUIRE(chosen != nullptr, "one of several candidates is always chosen");
  if (reprobing) ++memory.count;
  const Curve& curve = entry_of(curves_, chosen->key);
  memory.task = chosen == unknown ? 0 : chosen->key;
  memory.slope = curve.immediate.slope();
  memory.intercept = curve.immediate.intercept();
  memory.samples = static_cast<double>(chosen->samples);
  out.slice = static_cast<DurationNs>(slices) * view.slice;
  out.choices.push_back(Choice{chosen->key});
}

void Laira::archive(Archive& ar) {
  ar.sequence(curves_, core::kTasksLiveMax);
  ar.sequence(lanes_, core::kLanesMax);
  if (ar.reading() && (lanes_.size() != core::kLanesMax || !ascends_by_key(curves_))) ar.fail();
}

std::string Laira::explain(const core::Task& task) const {
  const auto at = std::find_if(curves_.begin(), curves_.end(),
                               [&task](const Curve& c) { return c.key == task.key; });
  std::string out(form_.name);
  if (at == curves_.end() || at->immediate.reports() < kProbeReports) {
    return out + ": it gets two reports first";
  }
  const bool excluded = form_.look_ahead && at->excess > 0.0;
  out += excluded ? ":" : ": predicted over required rate of loss " + shortened(at->score) + ";";
  out += " at its deadline the look-ahead sees " +
         shortened(exact::exp(std::clamp(at->excess, -50.0, 50.0))) + " times its target";
  if (excluded) out += ", so it is excluded for now";
  return out;
}

}  // namespace laird::policies
