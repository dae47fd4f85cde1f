#include "agent/policies/lane_plan.hpp"

#include <algorithm>

#include "base/require.hpp"

namespace laird::policies {
namespace {

// Which of its equally likely needs each task has in each joint draw: one fixed shuffle per place,
// so that draws of different tasks are independent and every plan meets the same ones.
using Shuffle = std::array<std::uint8_t, kScenarios>;

[[nodiscard]] std::array<Shuffle, kPlanTasksMax> make_shuffles() {
  std::array<Shuffle, kPlanTasksMax> all{};
  std::uint64_t state = 0x5EED;
  for (Shuffle& shuffle : all) {
    for (std::size_t i = 0; i < kScenarios; ++i) shuffle[i] = static_cast<std::uint8_t>(i);
    for (std::size_t i = kScenarios - 1; i > 0; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(shuffle[i], shuffle[(state >> 33) % (i + 1)]);
    }
  }
  return all;
}

const std::array<Shuffle, kPlanTasksMax>& shuffles() {
  static const std::array<Shuffle, kPlanTasksMax> all = make_shuffles();
  return all;
}

// Needs worth giving up at, as 32nds of the ascending list.
constexpr std::array<std::size_t, 9> kCutoffAt = {1, 3, 6, 10, 14, 18, 22, 26, 31};

}  // namespace

Index success_index(const PlannedTask& task) {
  Index best;
  double below = 0.0;
  for (std::size_t i = 0; i < kScenarios; ++i) {
    const double a = task.need[i];
    if (a >= kNeverSeconds || a > task.deadline) break;
    below += a;
    const double spent = below + a * static_cast<double>(kScenarios - 1 - i);
    const double rate = task.weight * static_cast<double>(i + 1) / std::max(spent, 1e-9);
    if (rate > best.value) best = {rate, a};
  }
  return best;
}

void Planner::draw(std::span<const PlannedTask> tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (std::size_t m = 0; m < kScenarios; ++m) drawn_[i][m] = tasks[i].need[shuffles()[i][m]];
  }
}

double Planner::value(std::span<const PlannedTask> tasks, const std::vector<PlannedStep>& steps) {
  if (evaluations_left_ > 0) --evaluations_left_;
  std::array<double, kScenarios> clock{};
  std::array<double, kScenarios> done{};  // weights
  for (const PlannedStep& step : steps) {
    if (step.cutoff <= 0.0) continue;
    const PlannedTask& task = tasks[step.task];
    const std::array<double, kScenarios>& needs = drawn_[step.task];
    for (std::size_t m = 0; m < kScenarios; ++m) {
      const double need = needs[m];
      const double left = task.deadline - clock[m];
      const double until = left < step.cutoff ? left : step.cutoff;
      const double limit = until > 0.0 ? until : 0.0;
      done[m] += need <= limit ? task.weight : 0.0;
      clock[m] += need < limit ? need : limit;
    }
  }
  double total = 0.0;
  double time = 0.0;
  for (std::size_t m = 0; m < kScenarios; ++m) {
    total += done[m];
    time += clock[m];
  }
  double value = total / static_cast<double>(kScenarios);
  // Among equals the plan that needs less of the lane, and so less energy.
  value -= 1e-9 * time / static_cast<double>(kScenarios);
  for (const PlannedStep& step : steps) {
    if (step.cutoff <= 0.0) continue;
    if (first_ != UINT32_MAX && step.task != first_) value -= switch_cost_;
    break;
  }
  return value;
}

void Planner::improve(std::span<const PlannedTask> tasks, std::vector<PlannedStep>& steps,
                      double& best) {
  constexpr double kGain = 1e-7;
  bool improved = true;
  while (improved && evaluations_left_ > 0) {
    improved = false;
    for (std::size_t i = 0; i < steps.size() && evaluations_left_ > 0; ++i) {
      for (std::size_t j = 0; j < steps.size(); ++j) {
        if (i == j) continue;
        trial_ = steps;
        const PlannedStep moved = trial_[i];
        trial_.erase(trial_.begin() + static_cast<std::ptrdiff_t>(i));
        trial_.insert(trial_.begin() + static_cast<std::ptrdiff_t>(j), moved);
        const double v = value(tasks, trial_);
        if (v <= best + kGain) continue;
        best = v;
        steps.swap(trial_);
        improved = true;
      }
    }
    for (std::size_t i = 0; i < steps.size() && evaluations_left_ > 0; ++i) {
      const PlannedTask& task = tasks[steps[i].task];
      const double kept = steps[i].cutoff;
      double best_cutoff = kept;
      for (std::size_t c = 0; c <= kCutoffAt.size(); ++c) {
        const double cutoff =
            c == 0 ? 0.0 : std::min(task.need[kCutoffAt[c - 1] * kScenarios / 32], task.deadline);
        if (cutoff == best_cutoff) continue;
        steps[i].cutoff = cutoff;
        const double v = value(tasks, steps);
        if (v <= best + kGain) continue;
        best = v;
        best_cutoff = cutoff;
        improved = true;
      }
      steps[i].cutoff = best_cutoff;
    }
  }
}

const LanePlan& Planner::plan(std::span<const PlannedTask> tasks, std::uint32_t first,
                              double switch_cost, std::uint32_t evaluations_max) {
  LAIRD_REQUIRE(tasks.size() <= kPlanTasksMax, "the planner is given a shortlist");
  draw(tasks);
  first_ = first;
  switch_cost_ = switch_cost;
  std::array<Index, kPlanTasksMax> index;
  for (std::size_t i = 0; i < tasks.size(); ++i) index[i] = success_index(tasks[i]);
  best_.steps.clear();
  best_.value = -1e30;
  for (int start = 0; start < 2; ++start) {
    steps_.clear();
    for (std::uint32_t i = 0; i < tasks.size(); ++i) steps_.push_back({i, index[i].cutoff});
    std::stable_sort(steps_.begin(), steps_.end(), [&](const PlannedStep& a, const PlannedStep& b) {
      if (start == 0) return index[a.task].value > index[b.task].value;
      return tasks[a.task].deadline < tasks[b.task].deadline;
    });
    evaluations_left_ = evaluations_max / 2;
    double best = value(tasks, steps_);
    improve(tasks, steps_, best);
    if (best <= best_.value) continue;
    best_.value = best;
    best_.steps = steps_;
  }
  return best_;
}

}  // namespace laird::policies
