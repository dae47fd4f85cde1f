#include "agent/policies/lara.hpp"

#include <algorithm>

#include "agent/policies/keyed_list.hpp"
#include "base/duration.hpp"
#include "base/exact_math.hpp"

namespace laird::policies {
namespace {

// Of the time from acceptance to deadline: fixed and long, as its critics say.
constexpr double kExplorePart = 0.2;
constexpr std::uint64_t kReportsMin = 3;  // a line needs them
constexpr double kNeverSeconds = 1e30;
constexpr double kSlopeMin = 1e-6;  // a flatter line meets no target
constexpr double kLogMax = 40.0;    // e^40 samples are more than anybody has
constexpr double kSecondsMin = 1e-3;

}  // namespace

void Lara::Curve::archive(Archive& ar) {
  ar(key);
  ar(fit);
  ar(need_seconds);
  ar(left_seconds);
  ar(share_ppm);
  ar.bounded(why, Why::kMostGain);
}

void Lara::observe(const core::Task& task) {
  // A refused report leaves the fit as it was.
  static_cast<void>(
      entry_of(curves_, task.key).fit.observe(static_cast<double>(task.samples), task.loss));
}

void Lara::forget(core::TaskKey key) {
  std::erase_if(curves_, [key](const Curve& c) { return c.key == key; });
}

void Lara::estimate(const LaneView& view, const core::Task& task, Curve& curve) const {
  curve.left_seconds =
      std::max(kSecondsMin, static_cast<double>(view.lane_time_until(task.deadline_at)) / 1e9);
  curve.need_seconds = kNeverSeconds;
  const double slope = curve.fit.slope();
  if (slope > -kSlopeMin || !(task.rate > 0.0)) return;
  const double target = exact::log(std::max(task.spec.target_loss, estimators::kLossMin));
  const double meets = (target - curve.fit.intercept()) / slope;
  if (meets > kLogMax) return;
  const double more = exact::exp(std::max(0.0, meets)) - static_cast<double>(task.samples);
  // The line may lie below a target the task has not reached: one more report at least.
  const double samples = std::max(more, static_cast<double>(task.spec.report_every));
  curve.need_seconds = samples / task.rate;
}

// Moore and Hodgson on the estimated needs: keeps in `jobs` those of the optimum.
void Lara::choose_on_time(std::vector<Job>& jobs) const {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
    return a.curve->left_seconds != b.curve->left_seconds
               ? a.curve->left_seconds < b.curve->left_seconds
               : a.curve->key < b.curve->key;
  });
  std::vector<Job> kept;
  double total = 0.0;
  for (const Job& job : jobs) {
    job.curve->why = Why::kLate;
    kept.push_back(job);
    total += job.curve->need_seconds;
    if (total <= job.curve->left_seconds) continue;
    const auto longest = std::max_element(kept.begin(), kept.end(), [](const Job& a, const Job& b) {
      return a.curve->need_seconds < b.curve->need_seconds;
    });
    total -= longest->curve->need_seconds;
    kept.erase(longest);
  }
  jobs = std::move(kept);
}

void Lara::divide(std::vector<Job>& jobs, std::uint32_t budget_ppm) {
  double sum = 0.0;
  for (const Job& job : jobs) sum += job.curve->need_seconds / job.curve->left_seconds;
  for (const Job& job : jobs) {
    const double part = job.curve->need_seconds / job.curve->left_seconds / sum;
    job.curve->share_ppm = static_cast<std::uint32_t>(part * static_cast<double>(budget_ppm));
    job.curve->why = Why::kOnTime;
  }
}

void Lara::decide(const LaneView& view, Decision& out) {
  const bool any_resident = std::any_of(view.candidates.begin(), view.candidates.end(),
                                        [](const Candidate& c) { return c.resident; });
  for (const Candidate& c : view.candidates) static_cast<void>(entry_of(curves_, c.task->key));
  std::vector<Job> exploring;
  std::vector<Job> known;
  for (const Candidate& c : view.candidates) {
    Curve& curve = entry_of(curves_, c.task->key);
    curve.share_ppm = 0;
    if (any_resident && !c.resident) continue;
    estimate(view, *c.task, curve);
    const auto span = static_cast<double>(c.task->deadline_at - c.task->accepted_at);
    const bool explored =
        static_cast<double>(view.now - c.task->accepted_at) >= kExplorePart * span &&
        curve.fit.reports() >= kReportsMin && c.task->rate > 0.0;
    (explored ? known : exploring).push_back({&curve, c.task});
  }
  const auto all = static_cast<std::uint32_t>(exploring.size() + known.size());
  for (const Job& job : exploring) {
    job.curve->share_ppm = core::kShareWholePpm / all;
    job.curve->why = Why::kExploring;
  }
  std::uint32_t left = core::kShareWholePpm;
  for (const Job& job : exploring) left -= job.curve->share_ppm;
  if (!known.empty()) {
    const auto gain = [](const Job& job) {
      return -job.curve->fit.slope() * job.task->rate /
             std::max(1.0, static_cast<double>(job.task->samples));
    };
    const Job best = *std::max_element(
        known.begin(), known.end(), [&](const Job& a, const Job& b) { return gain(a) < gain(b); });
    choose_on_time(known);
    if (!known.empty()) {
      divide(known, left);
    } else {
      best.curve->share_ppm = left;
      best.curve->why = Why::kMostGain;
    }
  }
  out.slice = view.slice;
  for (const Candidate& c : view.candidates) {
    const std::uint32_t share = entry_of(curves_, c.task->key).share_ppm;
    if (share > 0) out.choices.push_back(Choice{c.task->key, share});
  }
}

void Lara::archive(Archive& ar) {
  ar.sequence(curves_, core::kTasksLiveMax);
  if (ar.reading() && !ascends_by_key(curves_)) ar.fail();
}

std::string Lara::explain(const core::Task& task) const {
  const auto at = std::find_if(curves_.begin(), curves_.end(),
                               [&task](const Curve& c) { return c.key == task.key; });
  if (at == curves_.end() || at->why == Why::kNothing) return "lara: nothing is known of it yet";
  const std::string share =
      shortened(static_cast<double>(at->share_ppm) / static_cast<double>(core::kShareWholePpm));
  if (at->why == Why::kExploring) {
    return "lara: explored with " + share + " of the lane for the first " +
           shortened(kExplorePart) + " of its time";
  }
  const std::string need = at->need_seconds >= kNeverSeconds
                               ? std::string("never reaches its target by the fitted line")
                               : "needs " + spoken_seconds(at->need_seconds) +
                                     " of the lane in the " + spoken_seconds(at->left_seconds) +
                                     " left";
  if (at->why == Why::kOnTime) return "lara: " + need + "; it gets " + share + " of the lane";
  if (at->why == Why::kMostGain) {
    return "lara: " + need + "; nobody is estimated to finish, and it gains most";
  }
  return "lara: " + need + ", so that others finish in its place";
}

}  // namespace laird::policies
