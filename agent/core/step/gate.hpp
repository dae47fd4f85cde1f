// The step gate of one lane: how a ceiling on its time becomes turns, pieces and rests.
//
// The rules are in agent/core/state/power.hpp ("The gate", "Readings"). Everything here is
// arithmetic over one LaneGate; which lanes there are and who runs on them is the Stepper's
// business (gate_step.cpp).
#pragma once

#include <cstdint>

#include "agent/core/state/power.hpp"
#include "base/time.hpp"

namespace laird::core {

// When the lane may be granted again; in the past when it may now, kNever at a ceiling of 0.
[[nodiscard]] TimeNs rest_ends_at(const LaneGate& gate);

// How much of a slice is granted at once: all of it without a ceiling.
[[nodiscard]] DurationNs piece_of(const LaneGate& gate, DurationNs slice);

// A piece's samples, stretched to a whole loss report where that takes no longer than
// kGateReportMax. `rate` in samples per second, above 0.
[[nodiscard]] std::uint64_t gated_samples(const LaneGate& gate, std::uint64_t samples,
                                          std::uint64_t report_every, double rate);

// The policy's slice is not used up yet, as far as the lane's time goes.
[[nodiscard]] bool has_turn_left(const LaneGate& gate);

// Brings `seen` up to `now`; the lane was busy, or not, all the time since the last call.
void advance_seen(LaneGate& gate, bool busy, TimeNs now);

// A spell of work begins now: the cycle before it tells how much of its ceiling the lane got.
void begin_spell(LaneGate& gate, TimeNs now);
// It ends now.
void end_spell(LaneGate& gate, TimeNs now);

// By how much the lane's mean use at its present ceiling lies above the use a reading shows.
[[nodiscard]] double mean_above_seen(const LaneGate& gate);
// By how much its mean use since the last reading, `passed` ago, lies above the mean of that
// reading and this one. The next interval begins now.
[[nodiscard]] double take_mean_above_ends(LaneGate& gate, DurationNs passed);

// What the rungs beside the gate leave of a busy lane's dynamic power.
[[nodiscard]] std::int64_t other_rungs_permille(const power::Governor& governor);

// A trainer's CPU in thousandths of a core; at least one, as none would stop it for good.
[[nodiscard]] std::uint32_t quota_milli(std::uint32_t cores_milli, std::uint32_t share_ppm,
                                        std::int32_t level_permille);

}  // namespace laird::core
