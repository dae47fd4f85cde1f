// A plan for one lane: in which order to run tasks and when to give each up, so that the expected
// number of tasks that meet their deadlines, each counted by its weight, is largest.
//
// Source: ours. The model: task i still needs X_i seconds of the lane, a random number known by
// equally likely values ("never" among them), independent between tasks. A plan is an order and a
// cutoff c_i per task: it runs until it is done (X_i), given up (c_i) or late (its deadline D_i),
// then the next one starts. Its value is the mean number of successes over kScenarios joint draws,
// the same draws for every plan, so that plans are compared with common random numbers.
// Search: from the order of the index max_a P(X <= a) / E[min(X, a)] (Gittins, for jobs that may be
// given up) and from the order of deadlines, first improvement over moves of one task to another
// place and over its cutoffs, until nothing improves or the budget of evaluations is spent.
// Symbols: times in seconds from now; kNeverSeconds stands for "never".
// Assumptions: one lane; changing the task costs no time, only what the caller says it is worth.
// Deterministic: no libm, no clock; bounded by kPlanTasksMax and the budget.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace laird::policies {

inline constexpr std::size_t kPlanTasksMax = 16;  // beyond: the best by index, the others wait
inline constexpr std::size_t kScenarios = 32;
inline constexpr double kNeverSeconds = 1e30;

struct PlannedTask {
  std::array<double, kScenarios> need{};  // ascending, equally likely
  double deadline = 0.0;
  double weight = 1.0;  // what its success is worth
};

struct PlannedStep {
  std::uint32_t task = 0;  // position in the span given
  double cutoff = 0.0;     // seconds of the lane after which it is given up; 0: not run at all
};

struct LanePlan {
  std::vector<PlannedStep> steps;
  double value = 0.0;  // expected successes, each by its weight
};

// The weight times max over a of P(X <= min(a, deadline)) / E[min(X, a)], and the a that gives it.
struct Index {
  double value = 0.0;
  double cutoff = 0.0;
};
[[nodiscard]] Index success_index(const PlannedTask& task);

class Planner {
 public:
  // At most kPlanTasksMax tasks. `first` is preferred at the head of the plan: a plan that starts
  // with another task must be worth `switch_cost` successes more. UINT32_MAX: none is.
  [[nodiscard]] const LanePlan& plan(std::span<const PlannedTask> tasks, std::uint32_t first,
                                     double switch_cost, std::uint32_t evaluations_max);

 private:
  void draw(std::span<const PlannedTask> tasks);
  [[nodiscard]] double value(std::span<const PlannedTask> tasks,
                             const std::vector<PlannedStep>& steps);
  void improve(std::span<const PlannedTask> tasks, std::vector<PlannedStep>& steps, double& best);

  LanePlan best_;
  std::array<std::array<double, kScenarios>, kPlanTasksMax> drawn_{};  // need by task and draw
  std::vector<PlannedStep> steps_;
  std::vector<PlannedStep> trial_;
  std::uint32_t first_ = UINT32_MAX;
  double switch_cost_ = 0.0;
  std::uint32_t evaluations_left_ = 0;
};

}  // namespace laird::policies
