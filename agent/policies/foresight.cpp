#include "agent/policies/foresight.hpp"

#include <algorithm>
#include <cmath>

#include "agent/policies/keyed_list.hpp"
#include "base/duration.hpp"
#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::policies {
namespace {

// Round numbers of ours; neighbours of each change the successes on bundles of real curves by less
// than one percent of the oracle's (docs/experiments.md).
constexpr double kSlicePart = 0.25;  // of the cutoff: then think again
constexpr DurationNs kSlicesMin = 3;
constexpr DurationNs kSlicesMax = 20;
// In expected successes: a plan that starts with another task must be worth this much more.
constexpr double kSwitchCost = 0.005;
constexpr std::uint32_t kEvaluationsMax = 1200;
constexpr DurationNs kReprobePart = 4;  // a ruled-out task waits for this part of its time: 1/4
constexpr double kTrustGain = 0.1;
constexpr double kTrustMin = 0.4;
// A slice that ended this far from where it was expected says nothing about the band there.
constexpr double kExpectedSlack = 0.02;

[[nodiscard]] bool is_known(const core::Task& task) {
  return placement::has_forecast(task, task.rate);
}

// Of the odds that a target is reached: a plan that hedges between tasks finishes fewer than one
// that takes its forecasts a little further than they are calibrated.
[[nodiscard]] double decisive(double reach) {
  constexpr double kStretch = 1.25;
  constexpr double kMiddle = 0.6;  // ln odds of targets on the whole
  constexpr double kReachMin = 1e-3;
  const double p = std::clamp(reach, kReachMin, 1.0 - kReachMin);
  const double odds = exact::log(p / (1.0 - p));
  return 1.0 / (1.0 + exact::exp(-(kMiddle + kStretch * (odds - kMiddle))));
}

// What it takes before the task can go on: nothing while its trainer is in memory.
[[nodiscard]] double switch_seconds(const Candidate& c) {
  return c.resident ? 0.0 : seconds(c.task->restore_ns + c.task->checkpoint_ns);
}

}  // namespace

void Foresight::LaneMemory::archive(Archive& ar) {
  ar(task);
  ar.bounded(why, Why::kTurn);
  ar(cutoff_seconds);
  ar(plan_value);
  ar(planned);
  ar(considered);
  ar(expected_samples);
  ar(expected_low);
  ar(expected_high);
  ar(trust);
}

void Foresight::refresh(const core::Task& task, TimeNs now, Outlook& outlook) const {
  if (outlook.reports == task.forecast.reports() && outlook.rate == task.rate &&
      outlook.samples == task.samples && outlook.planned_samples == task.planned_samples &&
      outlook.deadline_at == task.deadline_at) {
    return;
  }
  outlook.reports = task.forecast.reports();
  outlook.samples = task.samples;
  outlook.planned_samples = task.planned_samples;
  outlook.deadline_at = task.deadline_at;
  outlook.rate = task.rate;
  const placement::Need seen = need(task, now);
  const auto reached = std::lround(decisive(seen.reach) * static_cast<double>(kScenarios));
  const auto count = std::min(kScenarios, static_cast<std::size_t>(reached));
  outlook.reach = seen.reach;
  outlook.seconds.fill(kNeverSeconds);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    outlook.seconds[i] = seen.seconds_at(u);
  }
  if (correct_) correct_(task, outlook.seconds);
  outlook.longest = 0.0;
  for (const double s : outlook.seconds) {
    if (s < kNeverSeconds) outlook.longest = s;
  }
  outlook.index = success_index({outlook.seconds, kNeverSeconds, task.spec.weight()});
}

// Keeps the kPlanTasksMax best by value, of equals the earlier.
void Foresight::keep_best(const Ranked& one) {
  if (best_.size() < kPlanTasksMax) {
    best_.push_back(one);
    return;
  }
  // The last of the worst goes, so that what came earlier stays.
  std::size_t worst = 0;
  for (std::size_t i = 1; i < best_.size(); ++i) {
    if (best_[i].value <= best_[worst].value) worst = i;
  }
  if (one.value <= best_[worst].value) return;
  best_.erase(best_.begin() + static_cast<std::ptrdiff_t>(worst));
  best_.push_back(one);
}

Foresight::Survey Foresight::survey(const LaneView& view) {
  Survey found;
  best_.clear();
  std::size_t at = 0;  // candidates and outlooks are both ascending by key
  for (std::size_t i = 0; i < view.candidates.size(); ++i) {
    const Candidate& c = view.candidates[i];
    const core::Task& task = *c.task;
    if (found.waited == nullptr || task.grant_at < found.waited->grant_at) found.waited = &task;
    if (found.served_least == nullptr || task.busy_ns < found.served_least->busy_ns) {
      found.served_least = &task;
    }
    if (!is_known(task)) {
      const bool nearest =
          found.unknown == nullptr || task.deadline_at < found.unknown->deadline_at;
      if (nearest) found.unknown = &task;
      continue;
    }
    while (at < outlooks_.size() && outlooks_[at].key < task.key) ++at;
    if (at == outlooks_.size() || outlooks_[at].key != task.key) {
      static_cast<void>(entry_of(outlooks_, task.key));  // goes in right here
    }
    Outlook& outlook = outlooks_[at];
    refresh(task, view.now, outlook);
    if (outlook.longest == 0.0) {  // ruled out
      const DurationNs waits = view.now - task.grant_at;
      const bool longer = found.overdue == nullptr || task.grant_at < found.overdue->grant_at;
      if (longer && waits >= (task.deadline_at - task.accepted_at) / kReprobePart) {
        found.overdue = &task;
      }
      continue;
    }
    const double left = seconds(view.lane_time_until(task.deadline_at)) - switch_seconds(c);
    const double value = outlook.longest <= left
                             ? outlook.index.value
                             : success_index({outlook.seconds, left, task.spec.weight()}).value;
    if (value > 0.0) keep_best({value, i, at});
  }
  return found;
}

// How the slice just run ended, against the band it was given.
void Foresight::judge_forecast(const LaneView& view, LaneMemory& memory) const {
  if (!(memory.expected_samples > 0.0)) return;
  for (const Candidate& c : view.candidates) {
    if (c.task->key != memory.task) continue;
    const auto samples = static_cast<double>(c.task->samples);
    const double off = samples - memory.expected_samples;
    if (off > kExpectedSlack * samples || -off > kExpectedSlack * samples) break;
    const double loss = c.task->forecast.loss_last();
    const bool held = loss >= memory.expected_low && loss <= memory.expected_high;
    memory.trust += kTrustGain * ((held ? 1.0 : 0.0) - memory.trust);
    break;
  }
  memory.expected_samples = 0.0;
}

void Foresight::expect(const LaneView& view, const core::Task& task, const Decision& out,
                       LaneMemory& memory) {
  memory.expected_samples = 0.0;
  if (!is_known(task) || view.slice <= 0) return;
  const double samples = static_cast<double>(task.samples) + task.rate * seconds(out.slice);
  const auto band = task.forecast.loss_at(samples, static_cast<double>(task.planned_samples));
  if (!band) return;
  memory.expected_samples = samples;
  memory.expected_low = band->low;
  memory.expected_high = band->high;
}

// False when the best plan is to run nobody.
bool Foresight::plan(const LaneView& view, LaneMemory& memory, Decision& out) {
  tasks_.clear();
  std::uint32_t first = UINT32_MAX;
  for (const Ranked& r : best_) {
    const Candidate& c = view.candidates[r.candidate];
    PlannedTask task;
    const double before = switch_seconds(c);
    task.deadline = seconds(view.lane_time_until(c.task->deadline_at));
    task.weight = c.task->spec.weight();
    for (std::size_t i = 0; i < kScenarios; ++i) {
      const double need = outlooks_[r.outlook].seconds[i];
      task.need[i] = need >= kNeverSeconds ? need : need + before;
    }
    if (c.task->key == memory.task) first = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back(task);
  }
  const LanePlan& best = planner_.plan(tasks_, first, kSwitchCost, kEvaluationsMax);
  memory.plan_value = best.value;
  memory.planned = 0;
  const PlannedStep* head = nullptr;
  for (const PlannedStep& step : best.steps) {
    if (step.cutoff <= 0.0) continue;
    if (head == nullptr) head = &step;
    ++memory.planned;
  }
  if (head == nullptr) return false;
  memory.task = view.candidates[best_[head->task].candidate].task->key;
  memory.why = Why::kPlan;
  memory.cutoff_seconds = head->cutoff;
  const double wanted = std::min(kSlicePart * head->cutoff * 1e9, 1e18);
  out.slice =
      std::clamp(static_cast<DurationNs>(wanted), kSlicesMin * view.slice, kSlicesMax * view.slice);
  return true;
}

void Foresight::decide(const LaneView& view, Decision& out) {
  LAIRD_REQUIRE(view.lane < lanes_.size(), "a lane beyond the limit");
  LaneMemory& memory = lanes_[view.lane];
  memory.considered = static_cast<std::uint32_t>(view.candidates.size());
  judge_forecast(view, memory);
  const Survey found = survey(view);
  const auto choose = [&](const core::Task& task, Why why, DurationNs slices) {
    memory.task = task.key;
    memory.why = why;
    memory.cutoff_seconds = 0.0;
    out.slice = slices * view.slice;
  };
  if (found.unknown != nullptr) {
    // The grant is of two reports, whatever they take.
    choose(*found.unknown, Why::kProbe, found.unknown->rate > 0.0 ? kSlicesMin : kSlicesMax);
  } else if (memory.trust < kTrustMin) {
    choose(*found.served_least, Why::kTurn, kSlicesMin);
  } else if (found.overdue != nullptr) {
    choose(*found.overdue, Why::kReprobe, kSlicesMin);
  } else if (!plan(view, memory, out)) {
    choose(*found.waited, Why::kReprobe, kSlicesMax);
  }
  out.choices.push_back(Choice{memory.task});
  const auto chosen = std::find_if(view.candidates.begin(), view.candidates.end(),
                                   [&](const Candidate& c) { return c.task->key == memory.task; });
  expect(view, *chosen->task, out, memory);
}

void Foresight::forget(core::TaskKey key) {
  std::erase_if(outlooks_, [key](const Outlook& o) { return o.key == key; });
}

void Foresight::archive(Archive& ar) {
  ar.sequence(lanes_, core::kLanesMax);
  if (ar.reading() && lanes_.size() != core::kLanesMax) ar.fail();
}

std::string Foresight::explain(const core::Task& task) const {
  std::string out = "foresight: ";
  const LaneMemory* chosen = nullptr;
  for (const LaneMemory& lane : lanes_) {
    if (lane.task == task.key) chosen = &lane;
  }
  if (chosen == nullptr) {
    out += "others come first";
  } else if (chosen->why == Why::kProbe) {
    out += "probed, because a forecast takes two reports";
  } else if (chosen->why == Why::kReprobe) {
    out += "tried again: it was ruled out and waited long, or nobody is left to plan for";
  } else if (chosen->why == Why::kTurn) {
    out += "tasks take turns: only " + shortened(100.0 * chosen->trust) +
           "% of the latest 90% bands held, so nothing is planned";
  } else {
    out += "first of " + std::to_string(chosen->planned) + " planned of " +
           std::to_string(chosen->considered) + " tasks, given up after " +
           spoken_seconds(chosen->cutoff_seconds) + " more; the plan expects " +
           shortened(chosen->plan_value) + " successes";
  }
  if (task.restore_ns > 0) {
    out += "; starting it takes " + spoken(task.restore_ns);
  }
  return out;
}

}  // namespace laird::policies
