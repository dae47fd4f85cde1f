// LaiRA and the forms the paper takes it apart into.
//
// Source: Wang, Liu, Zhou, "CoRE-Learning with Look-Ahead and Immediate Resource Allocation",
// Algorithm 1: feasibility by DKF (eqs. 3-8), WLS with a confidence bound (eqs. 9, 12), PD time
// slices (eq. 10 and below), the task with the highest predicted over required rate runs alone
// (eqs. 11, 13). STA is LaiRA without the feasibility check, which is also its third ablation.
// Symbols: M slice in configured slices; e error of the predicted ln loss of the slice just run;
// rho rates of -d ln loss / d ln s.
//
// The paper prints no constants, so all here are ours, and it leaves gaps, closed like this:
//  1. As printed a rising error lengthens the slice, the prose says it shortens it: the prose.
//  2. Eq. 11 does not exist at s = 0: each task first gets two reports, in order of acceptance.
//  3. An excluded task gets no data, so a wrong exclusion would last: each kReprobeEvery-th slice
//     goes to the excluded task that waited longest.
//  4. An empty feasible set: the task whose forecast misses its target by least runs.
// Deviation: e is of ln loss, of the one task that ran: the others stood still, and losses of
// unlike tasks have no common unit.
#pragma once

#include <vector>

#include "agent/policies/policy.hpp"
#include "estimators/model/kalman.hpp"
#include "estimators/model/wls.hpp"

namespace laird::policies {

struct LairaForm {
  std::string_view name;
  bool look_ahead;       // the feasibility check
  bool confidence;       // the bound of eq. 12 instead of the plain estimate
  bool adaptive_slices;  // PD control instead of a fixed slice
};
inline constexpr LairaForm kLaira{"laira", true, true, true};
inline constexpr LairaForm kLairaNoUcb{"laira-no-ucb", true, false, true};
inline constexpr LairaForm kLairaNoPd{"laira-no-pd", true, true, false};
inline constexpr LairaForm kSta{"sta", false, true, true};

class Laira final : public Policy {
 public:
  explicit Laira(const LairaForm& form) : form_(form) {}
  [[nodiscard]] std::string_view name() const override { return form_.name; }
  void decide(const LaneView& view, Decision& out) override;
  void observe(const core::Task& task) override;
  void forget(core::TaskKey key) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  struct Curve {  // what is known of one task
    core::TaskKey key = 0;
    estimators::DynamicKalmanFilter look_ahead;
    estimators::DiscountedLeastSquares immediate{estimators::DiscountedLeastSquares::Setting{}};
    double score = 0.0;   // predicted over required rate, at the last decision
    double excess = 0.0;  // ln of the look-ahead loss over the target, at the last decision
    // What follows from the reports alone: a cache, not part of the state, kept while they and what
    // the task says of itself are the same (a crash takes samples back).
    struct Known {
      std::uint64_t reports = UINT64_MAX;
      std::uint64_t samples = 0;
      double loss = 0.0;
      double log_target = 0.0;
      double log_samples = 0.0;
      double drop_left = 0.0;  // ln loss over target
    } known;
    struct Predicted {  // and from the slice
      double samples_more = -1.0;
      double rate = 0.0;
    } predicted;
    void archive(Archive& ar);
  };
  struct LaneMemory {
    core::TaskKey task = 0;
    double slices = 10.0;  // M
    double error[3] = {0.0, 0.0, 0.0};
    std::uint32_t count = 0;  // slices so far
    double slope = 0.0;       // the estimate the slice under way was chosen with
    double intercept = 0.0;
    double samples = 0.0;  // at its start
    void archive(Archive& ar);
  };

  void adapt_slice(const LaneView& view, LaneMemory& memory);
  void look_ahead(const LaneView& view, const core::Task& task, Curve& curve) const;
  void evaluate(const LaneView& view, const core::Task& task, double slices, Curve& curve) const;

  LairaForm form_;
  std::vector<Curve> curves_;  // ascending by key
  std::vector<LaneMemory> lanes_ = std::vector<LaneMemory>(core::kLanesMax);
};

}  // namespace laird::policies
