// The three policies that forecast nothing. Source: Wang, Liu, Zhou, "CoRE-Learning with Look-Ahead
// and Immediate Resource Allocation", section "Pure & Mixed Task Bundle Experiment", baselines (a)
// Uniform Allocation, (b) Shortest Task First ("closest deadlines"), (e) Round Robin.
// Deviation: Uniform divides a lane among trainers that are resident; one that still has to start
// joins with the next slice, because an absent process cannot use its part.
#pragma once

#include "agent/policies/policy.hpp"

namespace laird::policies {

// Every resident task at once, in equal parts.
class Uniform final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "uniform"; }
  void decide(const LaneView& view, Decision& out) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  std::uint32_t sharing_ = 0;  // tasks in the last decision
};

// The whole slice to the task whose deadline is next.
class ShortestTaskFirst final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "shortest-task-first"; }
  void decide(const LaneView& view, Decision& out) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  core::TaskKey last_ = 0;
  TimeNs last_deadline_ = 0;
};

// The whole slice to one task after another, in the order of acceptance.
class RoundRobin final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "round-robin"; }
  void decide(const LaneView& view, Decision& out) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  std::vector<core::TaskKey> last_ = std::vector<core::TaskKey>(core::kLanesMax, 0);  // per lane
};

}  // namespace laird::policies
