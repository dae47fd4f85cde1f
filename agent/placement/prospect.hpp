// What a task promises: the probability that its target is ever reached, and how much work that
// takes if it is.
//
// Source: ours. The forecaster (estimators/model/forecaster.hpp) sees one curve alone; what it
// cannot see is how targets usually lie: authors ask for what runs like theirs have reached, and
// some ask for too much. Two logistic regressions on seven features of the curve and its target
// learn that from real curves:
//     ln p / (1 - p) = w_0 + w f + f'Wf      p: the target is reached at all
//     ln q_j / (1 - q_j) = a_j + v f        q_j: given that, within part_j of the length from now
// The second is McCullagh's (1980) proportional odds, which gives a whole distribution for one
// vector v. There is a set for tasks whose author planned a length and one for those without, whose
// length is what the lane could do from acceptance to deadline.
// Symbols: s samples done; L length in samples; l loss, l_0 the first, l* the lowest; t target;
// b the present slope -d ln l / d ln s; f the features, standardised and clamped to +-3:
//     1 the forecaster's log-odds of reaching t by L   2 s / L   3 ln s / L
//     4 ln l* / t   5 ln(0.01 + ln l* / t)   6 ln l_0 / l*   7 ln l* / t - b ln L / s
// Assumptions: the loss is positive; a target is not far below what such a run can reach.
// The constants are found by `laird-lab laira --real DIR --tune CHECKOUT` (docs/experiments.md) and
// judged on sources they have not seen. Deterministic: base/exact_math only.
#pragma once

#include <array>
#include <cstddef>
#include <map>

#include "agent/core/state/task.hpp"

namespace laird::placement {

inline constexpr std::size_t kProspectFeatures = 7;
// Parts of the length within which the rest of the work may lie.
inline constexpr std::array<double, 16> kNeedParts = {0.005, 0.01, 0.02, 0.035, 0.05, 0.07,
                                                      0.10,  0.14, 0.19, 0.25,  0.32, 0.40,
                                                      0.50,  0.60, 0.80, 1.00};

using ProspectFeatures = std::array<double, kProspectFeatures>;
// The products f_i f_j with i <= j, in that order.
inline constexpr std::size_t kProspectProducts = kProspectFeatures * (kProspectFeatures + 1) / 2;
using ProspectProducts = std::array<double, kProspectProducts>;
[[nodiscard]] ProspectProducts products_of(const ProspectFeatures& f);

struct ProspectConstants {
  ProspectFeatures mean;
  ProspectFeatures scale;
  double reach_offset;
  ProspectFeatures reach;
  ProspectProducts reach_products;
  std::array<double, kNeedParts.size()> need_offset;
  ProspectFeatures need;
};
struct ProspectSet {
  ProspectConstants planned;    // the author said how long the run is
  ProspectConstants unplanned;  // nobody did
};
[[nodiscard]] const ProspectSet& shipped_prospects();

// Constants of single tasks in place of the shipped ones: the lab judges policies with such as have
// not seen the task's curve. Empty on a board.
class ProspectsByTask {
 public:
  // `constants` outlive this.
  void set(core::TaskKey key, const ProspectSet& constants) { by_key_[key] = &constants; }
  void forget(core::TaskKey key) { by_key_.erase(key); }
  [[nodiscard]] const ProspectSet& of(core::TaskKey key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? shipped_prospects() : *found->second;
  }

 private:
  std::map<core::TaskKey, const ProspectSet*> by_key_;
};

// The features before they are standardised. `length` in samples, at least 1; the forecaster has at
// least one report.
[[nodiscard]] ProspectFeatures prospect_features(const estimators::Forecaster& forecast,
                                                 double target_loss, double samples, double length,
                                                 double planned_samples);

struct Prospect {
  double reach = 0.0;   // probability
  double length = 0.0;  // samples
  std::array<double, kNeedParts.size()> within{};

  // Further samples that suffice with probability u, given that the target is reached.
  [[nodiscard]] double need_quantile(double u) const;
  // The probability that so many further samples suffice, given that the target is reached: the
  // other way round. What lies beyond the last part of the length lies at its end.
  [[nodiscard]] double within_samples(double samples) const;
};
[[nodiscard]] Prospect prospect(const ProspectConstants& constants,
                                const ProspectFeatures& features, double length);

// Of a task with at least one report; `speed` is in samples per second with the whole lane.
[[nodiscard]] Prospect prospect_of(const core::Task& task, double speed,
                                   const ProspectSet& constants);

}  // namespace laird::placement
