// Three schedulers in wide use, to measure ours against.
//
// Sources: ASHA, Li et al., "A System for Massively Parallel Hyperparameter Tuning" (2020);
// the median stopping rule, Golovin et al., "Google Vizier" (2017), section 3.2.2; earliest
// deadline first, Liu and Layland (1973), with admission by Moore's (1968) algorithm.
// Symbols: excess, a task's loss over its target; b the first rung, eta the factor between rungs.
// Assumptions: losses of unlike tasks cannot be compared, so all three rank by excess. Deviations:
// ASHA and median stopping compare the excess of now, since a task's time on its lane is what its
// rung is; what they stop is run when nobody else could, so that a lane never idles. Admission
// takes the median need of agent/placement/need.hpp and leaves out what is ruled out.
#pragma once

#include "agent/policies/policy.hpp"

namespace laird::policies {

// What the three remember: whom they chose last, for explain().
class Peer : public Policy {
 public:
  void archive(Archive& ar) override { ar(last_); }

 protected:
  void choose(const core::Task& task, DurationNs slice, Decision& out);
  core::TaskKey last_ = 0;
};

class Asha final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "asha"; }
  void decide(const LaneView& view, Decision& out) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;
};

class MedianStopping final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "median-stopping"; }
  void decide(const LaneView& view, Decision& out) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;
};

class EdfAdmission final : public Peer {
 public:
  [[nodiscard]] std::string_view name() const override { return "edf-admission"; }
  void decide(const LaneView& view, Decision& out) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;
};

}  // namespace laird::policies
