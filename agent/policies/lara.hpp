// LARA: estimate what each task needs, divide the lane by the best schedule for those estimates.
//
// Source: Wang, Yu, Zhao, Zhou, "Learning with Adaptive Resource Allocation" (2024), as the LaiRA
// paper ("Previous Effort") and Hasan, Pena, "Robustness-Efficiency Trade-offs in Learning-Aware
// Distributed Scheduling" (section 3.3) describe it. Its allocation search is not printed there, so
// this is ours in its place: a fixed exploration, a discounted log-linear fit, and for the
// estimated needs the optimum (Moore, Hodgson 1968: the most tasks that meet their deadlines).
//  1. Exploration: for the first kExplorePart of its time a task gets an equal part of the lane.
//  2. A task's need is where its fitted line meets its target, over its rate; none when it never
//     does. Safeguards: the line must fall, and one more
//     report is always needed.
//  3. The rest of the lane goes to the tasks of that optimum, each in proportion to the rate it
//  must
//     have to finish exactly at its deadline; if nobody can, to the task predicted to gain most.
// Everything is estimated and allocated anew each slice: the high frequency its critics name.
// Symbols: eta share of the lane; need and time left in seconds.
#pragma once

#include <vector>

#include "agent/policies/policy.hpp"
#include "estimators/model/wls.hpp"

namespace laird::policies {

// Our choice: at the 0.7 that serves LaiRA's next slice the line is too noisy to extrapolate.
inline constexpr estimators::DiscountedLeastSquares::Setting kLaraFit{0.97, 1e-6};

class Lara final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "lara"; }
  void decide(const LaneView& view, Decision& out) override;
  void observe(const core::Task& task) override;
  void forget(core::TaskKey key) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  enum class Why : std::uint8_t { kNothing, kExploring, kOnTime, kLate, kMostGain };
  struct Curve {
    core::TaskKey key = 0;
    estimators::DiscountedLeastSquares fit{kLaraFit};
    // Of the last decision.
    double need_seconds = 0.0;
    double left_seconds = 0.0;
    std::uint32_t share_ppm = 0;
    Why why = Why::kNothing;
    void archive(Archive& ar);
  };
  struct Job {
    Curve* curve = nullptr;
    const core::Task* task = nullptr;
  };

  void estimate(const LaneView& view, const core::Task& task, Curve& curve) const;
  void choose_on_time(std::vector<Job>& jobs) const;
  static void divide(std::vector<Job>& jobs, std::uint32_t budget_ppm);

  std::vector<Curve> curves_;  // ascending by key
};

}  // namespace laird::policies
