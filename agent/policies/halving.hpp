// Successive Halving.
//
// Source: Karnin, Koren, Somekh, "Almost Optimal Exploration in Multi-Armed Bandits" (2013), as the
// LaiRA paper uses it (baseline f): in rounds of equal total time every surviving task gets the
// same share of the round, then the half with the higher loss is dropped. It looks for one best
// task, not for many successes; it is here because the paper compares with it. Symbols: n tasks at
// the start of a bracket; a round lasts horizon / ceil(log2 n), the horizon is the time from the
// start of the bracket to the last deadline known then. Assumptions: losses of unlike tasks cannot
// be compared, so tasks are ranked by ln loss over target. Deviations: dropped tasks come back when
// no survivor is left to run, and tasks that arrive later join the survivors, so that a lane never
// idles while somebody could run.
#pragma once

#include <vector>

#include "agent/policies/policy.hpp"

namespace laird::policies {

class SuccessiveHalving final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "successive-halving"; }
  void decide(const LaneView& view, Decision& out) override;
  void forget(core::TaskKey key) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  struct Bracket {  // of one lane
    std::vector<core::TaskKey> dropped;
    TimeNs round_ends_at = 0;
    DurationNs round = 0;
    std::uint32_t rounds = 0;  // done so far
    void archive(Archive& ar);
  };

  static void start(const LaneView& view, Bracket& bracket);
  static void drop_half(std::vector<const core::Task*>& survivors, Bracket& bracket);
  static void survivors_of(const LaneView& view, const Bracket& bracket,
                           std::vector<const core::Task*>& out);

  std::vector<Bracket> brackets_ = std::vector<Bracket>(core::kLanesMax);
};

}  // namespace laird::policies
