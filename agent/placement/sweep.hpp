// Sweeps: tasks that try several values of one thing, of which those without a chance end early, so
// that the others have their time.
//
// Source: ours. A member is hopeless when both its chance to reach its target by its deadline and
// its chance to come below the lowest loss that another member has shown are less than the limit
// that the sweep states. Both are the forecaster's probabilities, with the whole lane until the
// member's own deadline: a member that was given little so far is not judged by that. Only what a
// rival has shown counts, never what it is expected to show, so that two members cannot end each
// other; and the one with the lowest loss is never hopeless.
//  - Too early: below kSweepReports reports nobody is judged.
//  - A sweep is judged board by board: by the members that this board has.
// Deterministic: base/exact_math only.
#pragma once

#include <cstdint>
#include <string>

#include "agent/core/state/state.hpp"
#include "base/time.hpp"

namespace laird::placement {

inline constexpr std::uint64_t kSweepReports = 8;

// Why this member of a sweep ends now; empty: it goes on.
[[nodiscard]] std::string hopeless_in_sweep(const core::State& state, const core::Task& member,
                                            TimeNs now);

}  // namespace laird::placement
