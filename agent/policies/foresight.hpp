// Our policy: plan with probability forecasts, reachability first.
//
// Source: ours; the planner is agent/policies/plan.hpp, the forecasts are
// estimators/model/forecaster.hpp. Each decision:
//  1. A task nobody has heard two reports of is probed first, the nearest deadline before others:
//     two reports cost little and a forecast needs them.
//  2. Each task's remaining need is kScenarios equally likely numbers of seconds, by its measured
//     rate and its prospect (prospect.hpp): the probability that the target is reached at all, and
//     how the work left is spread if it is, both learned from curves of other sources.
//  3. The plan with the most expected successes is searched for; its first task runs for a quarter
//     of its cutoff, 3 to 20 slices, and then everything is thought over again.
//  4. When the plan runs nobody, nothing is lost by trying: the task that waited longest is probed
//     again, so that one wrong "never" is not for ever.
// With more tasks than the planner takes, the best by success index are planned and the others
// wait; needs are computed anew only for tasks that reported, so a decision stays cheap.
//
// Symbols: p probability of reaching the target by the planned end or the deadline; times in
// seconds.
// Fall-back: without usable forecasts (steps 1 and 4) it is round robin by waiting time.
// Deterministic; what is kept between decisions and not computed from tasks is in archive().
#pragma once

#include <map>
#include <vector>

#include "agent/policies/plan.hpp"
#include "agent/policies/policy.hpp"
#include "agent/policies/prospect.hpp"

namespace laird::policies {

class Foresight final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "foresight"; }
  void decide(const LaneView& view, Decision& out) override;
  void forget(core::TaskKey key) override;
  // Constants for one task in place of the shipped ones, for judging the policy with such as have
  // not seen the task's curve. Not part of the archive; `constants` outlive the policy.
  void judge_with(core::TaskKey key, const ProspectSet& constants);
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  enum class Why : std::uint8_t { kNothing, kProbe, kPlan, kReprobe };
  struct LaneMemory {
    core::TaskKey task = 0;  // of the last decision
    Why why = Why::kNothing;
    double cutoff_seconds = 0.0;
    double plan_value = 0.0;
    std::uint32_t planned = 0;  // tasks the plan would run
    std::uint32_t considered = 0;
    void archive(Archive& ar);
  };
  // Needs by task, valid while the task has not reported since: a cache, not part of the state.
  struct Needs {
    std::uint64_t reports = UINT64_MAX;
    double rate = 0.0;
    std::array<double, kScenarios> seconds{};
  };

  [[nodiscard]] const Needs& needs_of(const core::Task& task);
  void shortlist(const LaneView& view);
  bool probe(const LaneView& view, LaneMemory& memory, Decision& out) const;
  void reprobe(const LaneView& view, LaneMemory& memory, Decision& out) const;

  std::vector<LaneMemory> lanes_ = std::vector<LaneMemory>(core::kLanesMax);
  std::map<core::TaskKey, Needs> needs_;
  std::map<core::TaskKey, const ProspectSet*> judged_with_;
  Planner planner_;
  std::vector<PlanTask> tasks_;             // of the decision under way
  std::vector<const core::Task*> planned_;  // the same order
};

}  // namespace laird::policies
