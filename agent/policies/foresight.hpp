// Our policy: plan with probability forecasts, reachability first.
//
// Source: ours; the planner is agent/policies/lane_plan.hpp, the forecasts are
// estimators/model/forecaster.hpp and agent/placement/need.hpp. Each decision:
//  1. A task nobody has heard two reports of is probed first, the nearest deadline before others:
//     two reports cost little and a forecast needs them.
//  2. Each task's remaining need (agent/placement/need.hpp) is kScenarios equally likely numbers of
//     seconds at its measured rate. A task whose
//     trainer is not in memory also needs its own measured time to restore and to make room.
//  3. The plan with the most expected successes, each by its task's weight, is searched for; among
//  equals the one that needs
//     less of the lane, and so less energy. Its first task runs for a quarter of its cutoff, 3 to
//     20 slices, and then everything is thought over again.
//  4. A task ruled out is tried again when the plan runs nobody, since nothing is lost by trying,
//     and in any case when it has waited for kReprobePart of its time: one wrong "never" is not
//     for ever.
//  5. Forecasts are watched: how often a slice's last loss lies inside the 90% band it was given.
//     While that is below kTrustMin, nothing is planned and tasks take turns, least served first,
//     which needs no forecast.
// With more tasks than the planner takes, the best by success index are planned and the others
// wait; needs are computed anew only for tasks that reported, so a decision stays cheap.
//
// Symbols: times in seconds.
// Deterministic; what is kept between decisions and not computed from tasks is in archive().
#pragma once

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "agent/placement/need.hpp"
#include "agent/policies/lane_plan.hpp"
#include "agent/policies/policy.hpp"

namespace laird::policies {

class Foresight final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "foresight"; }
  void decide(const LaneView& view, Decision& out) override;
  void forget(core::TaskKey key) override;
  // What it plans a task with.
  [[nodiscard]] placement::Need need(const core::Task& task, TimeNs now) const {
    return placement::need_of(task, task.rate, now);
  }
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

  // For the lab, which knows how its curves go on: changes the needs that a task is planned with.
  using Scenarios = std::array<double, kScenarios>;  // seconds, ascending, then kNeverSeconds
  void correct_needs_by(std::function<void(const core::Task&, Scenarios&)> correct) {
    correct_ = std::move(correct);
  }

 private:
  enum class Why : std::uint8_t { kNothing, kProbe, kPlan, kReprobe, kTurn };
  struct LaneMemory {
    core::TaskKey task = 0;  // of the last decision
    Why why = Why::kNothing;
    double cutoff_seconds = 0.0;
    double plan_value = 0.0;
    std::uint32_t planned = 0;  // tasks the plan would run
    std::uint32_t considered = 0;
    // The band its slice was expected to end in, and the share of such bands that held lately.
    double expected_samples = 0.0;
    double expected_low = 0.0;
    double expected_high = 0.0;
    double trust = 1.0;
    void archive(Archive& ar);
  };
  // What is known of a task: a cache, not part of the state, so it is kept only while everything it
  // follows from is the same. Reports are not all: a crash takes samples back, a stepped wall clock
  // moves deadlines.
  struct Outlook {
    core::TaskKey key = 0;
    std::uint64_t reports = UINT64_MAX;
    std::uint64_t samples = 0;
    std::uint64_t planned_samples = 0;
    TimeNs deadline_at = 0;
    double rate = 0.0;
    Index index;           // when every finite need fits before the deadline
    double longest = 0.0;  // the longest finite need
    double reach = 0.0;
    Scenarios seconds{};
  };
  struct Ranked {
    double value = 0.0;
    std::size_t candidate = 0;
    std::size_t outlook = 0;
  };
  // What one pass over the candidates finds.
  struct Survey {
    const core::Task* unknown = nullptr;  // nearest deadline
    const core::Task* waited = nullptr;   // longest, of all
    const core::Task* overdue = nullptr;  // ruled out, and waited for kReprobePart of its time
    const core::Task* served_least = nullptr;
  };

  void refresh(const core::Task& task, TimeNs now, Outlook& outlook) const;
  [[nodiscard]] Survey survey(const LaneView& view);
  void keep_best(const Ranked& one);
  void judge_forecast(const LaneView& view, LaneMemory& memory) const;
  static void expect(const LaneView& view, const core::Task& task, const Decision& out,
                     LaneMemory& memory);
  bool plan(const LaneView& view, LaneMemory& memory, Decision& out);

  std::vector<LaneMemory> lanes_ = std::vector<LaneMemory>(core::kLanesMax);
  std::vector<Outlook> outlooks_;  // ascending by key
  Planner planner_;
  std::function<void(const core::Task&, Scenarios&)> correct_;  // empty on a board
  std::vector<Ranked> best_;        // of the decision under way, at most kPlanTasksMax
  std::vector<PlannedTask> tasks_;  // the same order
};

}  // namespace laird::policies
