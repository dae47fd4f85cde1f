// UARA: throttling around any policy, in the form that starves a busy board and in one that does
// not.
//
// Source: Hasan, Pena, "Robustness-Efficiency Trade-offs in Learning-Aware Distributed Scheduling",
// sections 3.3 and 6.1 (after Kim, Park, Lee 2024). The wrapped policy chooses; UARA limits what a
// choice may take of the lane, to save energy while the network is the bottleneck.
//
// As printed, each choice is capped at 1 / N_total, where N_total counts every active task, also
// those still fetching their data; the cap binds only those that compute. The more tasks wait, the
// less anybody gets, and the lane idles (the paper's normalisation paradox):
//     Alloc_i ~ 1 / N_total << 1 / N_compute.
// Corrected (the paper's future work; the details are ours):
//  1. Shares are normalised over the tasks that compute, so that whatever runs uses the whole lane.
//  2. Every ready task that is still feasible gets at least a minimum share, 1 / kUaraMinimumPart
//  of
//     an equal one: when it has waited so long that it is due a slice, it has its turn alone, as
//     long as it is due. A wrong choice of the wrapped policy starves nobody.
//  3. The throttle acts where it costs nothing: a task whose forecast no longer reaches its target
//     by its deadline gets nothing, and a lane with only such tasks idles. Each kReprobeEvery-th
//     decision trusts no forecast, so that one wrong "infeasible" is not for ever.
// A task is feasible by its need (agent/placement/need.hpp), or while its forecast is too young to
// be trusted: the robust answer while forecasts are unreliable. Symbols: shares in millionths of
// the lane.
#pragma once

#include <memory>
#include <vector>

#include "agent/placement/need.hpp"
#include "agent/policies/policy.hpp"

namespace laird::policies {

struct UaraForm {
  std::string_view name;
  std::string_view inner;  // a name of the registry
  bool as_printed;
};
inline constexpr UaraForm kUaraForms[] = {
    {"uara-foresight", "foresight", false},    {"uara-laira", "laira", false},
    {"uara-laira-printed", "laira", true},     {"uara-lara", "lara", false},
    {"uara-lara-printed", "lara", true},       {"uara-uniform", "uniform", false},
    {"uara-uniform-printed", "uniform", true},
};

// What every feasible task gets at least is an equal share over this.
inline constexpr std::int64_t kUaraMinimumPart = 10;

class Uara final : public Policy {
 public:
  Uara(const UaraForm& form, std::unique_ptr<Policy> inner)
      : form_(form), inner_(std::move(inner)) {}
  [[nodiscard]] std::string_view name() const override { return form_.name; }
  void decide(const LaneView& view, Decision& out) override;
  void observe(const core::Task& task) override { inner_->observe(task); }
  void forget(core::TaskKey key) override;
  void archive(Archive& ar) override;
  [[nodiscard]] std::string explain(const core::Task& task) const override;

 private:
  struct Given {  // to one task by the last decision that had it among its candidates
    core::TaskKey key = 0;
    std::uint32_t share_ppm = 0;
    std::uint32_t computing = 0;  // tasks that could compute then
    std::uint32_t total = 0;      // and all active ones
    bool feasible = true;
    bool turn = false;  // by the minimum share
    void archive(Archive& ar);
  };

  [[nodiscard]] bool is_feasible(const core::Task& task, TimeNs now) const;
  void cap(Decision& out, std::uint32_t total) const;
  void normalise(const LaneView& view, Decision& out);
  [[nodiscard]] const core::Task* overdue(const LaneView& view, DurationNs& turn);
  [[nodiscard]] Given& given_to(core::TaskKey key);

  UaraForm form_;
  std::unique_ptr<Policy> inner_;
  std::uint64_t decisions_ = 0;
  std::vector<Given> given_;  // ascending by key
};

}  // namespace laird::policies
