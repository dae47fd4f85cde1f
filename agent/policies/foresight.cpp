#include "agent/policies/foresight.hpp"

#include <algorithm>

#include "agent/policies/words.hpp"
#include "base/require.hpp"

namespace laird::policies {
namespace {

constexpr std::uint64_t kProbeReports = 2;

// Round numbers of ours; twice or half of any changes the successes on bundles of real curves by
// less than the noise of a thousand bundles (docs/experiments.md).
constexpr double kSlicePart = 0.25;  // of the cutoff: then think again
constexpr DurationNs kSlicesMin = 3;
constexpr DurationNs kSlicesMax = 20;
// In expected successes: a plan that starts with another task must be worth this much more.
constexpr double kSwitchCost = 0.005;
constexpr std::uint32_t kEvaluationsMax = 1200;

[[nodiscard]] double seconds(DurationNs ns) { return static_cast<double>(ns) / 1e9; }

[[nodiscard]] bool is_known(const core::Task& task) {
  return task.forecast.reports() >= kProbeReports && task.rate > 0.0;
}

}  // namespace

void Foresight::LaneMemory::archive(Archive& ar) {
  ar(task);
  ar.bounded(why, Why::kReprobe);
  ar(cutoff_seconds);
  ar(plan_value);
  ar(planned);
  ar(considered);
}

const Foresight::Needs& Foresight::needs_of(const core::Task& task) {
  Needs& needs = needs_[task.key];
  if (needs.reports == task.forecast.reports() && needs.rate == task.rate) return needs;
  needs.reports = task.forecast.reports();
  needs.rate = task.rate;
  const auto judged = judged_with_.find(task.key);
  const Prospect seen =
      prospect_of(task, judged == judged_with_.end() ? shipped_prospects() : *judged->second);
  const auto count = std::min(
      kScenarios, static_cast<std::size_t>(seen.reach * static_cast<double>(kScenarios) + 0.5));
  needs.seconds.fill(kNeverSeconds);
  for (std::size_t i = 0; i < count; ++i) {
    const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    needs.seconds[i] = seen.need_quantile(u) / task.rate;
  }
  return needs;
}

// The nearest deadline among tasks nobody knows anything of yet.
bool Foresight::probe(const LaneView& view, LaneMemory& memory, Decision& out) const {
  const core::Task* chosen = nullptr;
  for (const Candidate& c : view.candidates) {
    if (is_known(*c.task)) continue;
    if (chosen == nullptr || c.task->deadline_at < chosen->deadline_at) chosen = c.task;
  }
  if (chosen == nullptr) return false;
  memory = {chosen->key, Why::kProbe, 0.0, 0.0, 0, memory.considered};
  out.slice = kSlicesMax * view.slice;  // the grant is of two reports, whatever they take
  if (chosen->rate > 0.0) out.slice = kSlicesMin * view.slice;
  out.choices.push_back(Choice{chosen->key});
  return true;
}

void Foresight::reprobe(const LaneView& view, LaneMemory& memory, Decision& out) const {
  const auto waited = std::min_element(
      view.candidates.begin(), view.candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.task->grant_at < b.task->grant_at; });
  memory.task = waited->task->key;
  memory.why = Why::kReprobe;
  memory.cutoff_seconds = 0.0;
  out.slice = kSlicesMax * view.slice;
  out.choices.push_back(Choice{waited->task->key});
}

// Fills tasks_ and planned_ with the candidates worth planning for, at most kPlanTasksMax.
void Foresight::shortlist(const LaneView& view) {
  struct Ranked {
    double value;
    const core::Task* task;
  };
  std::vector<Ranked> ranked;
  ranked.reserve(view.candidates.size());
  PlanTask task;
  for (const Candidate& c : view.candidates) {
    task.need = needs_of(*c.task).seconds;
    task.deadline = seconds(c.task->deadline_at - view.now);
    ranked.push_back({success_index(task).value, c.task});
  }
  if (ranked.size() > kPlanTasksMax) {
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.value > b.value; });
    ranked.resize(kPlanTasksMax);
  }
  tasks_.clear();
  planned_.clear();
  for (const Ranked& r : ranked) {
    tasks_.push_back({needs_of(*r.task).seconds, seconds(r.task->deadline_at - view.now)});
    planned_.push_back(r.task);
  }
}

void Foresight::decide(const LaneView& view, Decision& out) {
  LAIRD_REQUIRE(view.lane < lanes_.size(), "a lane beyond the limit");
  LaneMemory& memory = lanes_[view.lane];
  memory.considered = static_cast<std::uint32_t>(view.candidates.size());
  if (probe(view, memory, out)) return;
  shortlist(view);
  std::uint32_t first = UINT32_MAX;
  for (std::uint32_t i = 0; i < planned_.size(); ++i) {
    if (planned_[i]->key == memory.task) first = i;
  }
  const Plan& plan = planner_.plan(tasks_, first, kSwitchCost, kEvaluationsMax);
  memory.plan_value = plan.value;
  memory.planned = 0;
  const PlanStep* head = nullptr;
  for (const PlanStep& step : plan.steps) {
    if (step.cutoff <= 0.0) continue;
    if (head == nullptr) head = &step;
    ++memory.planned;
  }
  if (head == nullptr) {
    reprobe(view, memory, out);
    return;
  }
  memory.task = planned_[head->task]->key;
  memory.why = Why::kPlan;
  memory.cutoff_seconds = head->cutoff;
  const double wanted = std::min(kSlicePart * head->cutoff * 1e9, 1e18);
  out.slice =
      std::clamp(static_cast<DurationNs>(wanted), kSlicesMin * view.slice, kSlicesMax * view.slice);
  out.choices.push_back(Choice{memory.task});
}

void Foresight::forget(core::TaskKey key) {
  needs_.erase(key);
  judged_with_.erase(key);
}

void Foresight::judge_with(core::TaskKey key, const ProspectSet& constants) {
  judged_with_[key] = &constants;
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
    out += "tried again: the plan would run nobody, and it waited longest";
  } else {
    out += "first of " + std::to_string(chosen->planned) + " planned of " +
           std::to_string(chosen->considered) + " tasks, given up after " +
           shortened(chosen->cutoff_seconds) + " s more; the plan expects " +
           shortened(chosen->plan_value) + " successes";
  }
  if (!is_known(task)) return out + "; nothing is known of it yet";
  const auto need = task.forecast.samples_to_reach(task.spec.target_loss,
                                                   static_cast<double>(task.planned_samples));
  out += "; its target is reached with probability " + shortened(need.probability);
  if (need.samples < estimators::kNever) {
    out += ", after about " + shortened(need.samples / task.rate) + " s of work";
  }
  return out;
}

}  // namespace laird::policies
