#include "agent/core/step/gate.hpp"

#include <algorithm>

#include "power/model/power_gate.hpp"

namespace laird::core {
namespace {

constexpr std::uint32_t kPpmPerPermille = kShareWholePpm / 1000;
// How fast `kept` follows a new cycle, and the least it is believed to be.
constexpr std::int64_t kKeptGain = 8;
constexpr std::int64_t kKeptPpmMin = kShareWholePpm / 2;

}  // namespace

TimeNs rest_ends_at(const LaneGate& gate) {
  if (gate.ceiling_ppm >= kShareWholePpm) return 0;
  if (gate.ceiling_ppm == 0) return kNever;
  const DurationNs busy = std::max<DurationNs>(0, gate.busy_until - gate.busy_from);
  const auto rest = static_cast<__int128>(busy) * (kShareWholePpm - gate.ceiling_ppm);
  // Rounded up: a moment short, again and again, would be above the ceiling.
  const auto whole = (rest + gate.ceiling_ppm - 1) / gate.ceiling_ppm;
  if (whole > kTimeMax - gate.busy_until) return kTimeMax;
  return gate.busy_until + static_cast<DurationNs>(whole);
}

DurationNs piece_of(const LaneGate& gate, DurationNs slice) {
  if (gate.ceiling_ppm >= kShareWholePpm) return slice;
  const DurationNs piece = kGatePeriod / kPpmPerPermille * gate.ceiling_ppm / 1000;
  return std::clamp(piece, kSliceMin, std::max(kSliceMin, slice));
}

std::uint64_t gated_samples(const LaneGate& gate, std::uint64_t samples, std::uint64_t report_every,
                            double rate) {
  if (gate.ceiling_ppm >= kShareWholePpm || samples >= report_every) return samples;
  const double report_ns = static_cast<double>(report_every) / rate * 1e9;
  return report_ns <= static_cast<double>(kGateReportMax) ? report_every : samples;
}

bool has_turn_left(const LaneGate& gate) {
  return gate.ceiling_ppm < kShareWholePpm && gate.turn_left >= kSliceMin && !gate.turn.empty();
}

void advance_seen(LaneGate& gate, bool busy, TimeNs now) {
  const DurationNs passed = std::clamp<DurationNs>(now - gate.seen_at, 0, kHour);
  const power::SeenUse next = power::seen_after(gate.seen, busy ? 1.0 : 0.0, passed, kMeterLag);
  gate.seen_sum_ns = std::min(gate.seen_sum_ns + next.sum_ns, kSeenSumMax);
  gate.seen = next.use;
  gate.seen_at = now;
}

void begin_spell(LaneGate& gate, TimeNs now) {
  advance_seen(gate, false, now);
  const DurationNs cycle = now - gate.busy_from;
  const DurationNs busy = gate.busy_until - gate.busy_from;
  if (gate.wanted_since && gate.ceiling_ppm > 0 && gate.ceiling_ppm < kShareWholePpm && busy > 0) {
    const auto ideal = static_cast<__int128>(busy) * kShareWholePpm / gate.ceiling_ppm;
    const auto got = static_cast<std::int64_t>(std::min<__int128>(
        ideal * kShareWholePpm / std::max<DurationNs>(1, cycle), kShareWholePpm));
    const std::int64_t kept = gate.kept_ppm;
    gate.kept_ppm =
        static_cast<std::uint32_t>(kept + (std::max(got, kKeptPpmMin) - kept) / kKeptGain);
  }
  gate.busy_from = now;
}

void end_spell(LaneGate& gate, TimeNs now) {
  advance_seen(gate, true, now);
  gate.busy_until = now;
  gate.wanted_since = true;
  gate.turn_left -= now - gate.busy_from;
}

double mean_above_seen(const LaneGate& gate) {
  const double mean =
      static_cast<double>(gate.ceiling_ppm) * 1e-6 * static_cast<double>(gate.kept_ppm) * 1e-6;
  return mean - gate.seen;
}

double take_mean_above_ends(LaneGate& gate, DurationNs passed) {
  const double mean = passed > 0 ? gate.seen_sum_ns / static_cast<double>(passed) : 0.0;
  const double above = passed > 0 ? mean - (gate.seen_then + gate.seen) / 2.0 : 0.0;
  gate.seen_then = gate.seen;
  gate.seen_sum_ns = 0.0;
  return above;
}

std::int64_t other_rungs_permille(const power::Governor& governor) {
  std::int64_t left = power::kLevelFull;
  for (std::size_t i = 1; i < power::kRungCount; ++i) {
    left = left * governor.level(static_cast<power::Rung>(i)) / power::kLevelFull;
  }
  return left;
}

std::uint32_t quota_milli(std::uint32_t cores_milli, std::uint32_t share_ppm,
                          std::int32_t level_permille) {
  const std::uint64_t milli = static_cast<std::uint64_t>(cores_milli) * share_ppm / kShareWholePpm *
                              static_cast<std::uint64_t>(level_permille) /
                              static_cast<std::uint64_t>(power::kLevelFull);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, milli));
}

}  // namespace laird::core
