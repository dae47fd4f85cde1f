// Holding a power cap in the core: whose cap is in force, the governor, and the step gate.
//
// Caps come from the config, from an operator (with an end, if wanted) and from the fleet; the
// lowest one is in force. power::Governor is stepped with every reading and its gate level becomes
// a ceiling on lane time (power/model/power_gate.hpp); the fleet may lower a kind of lane further.
//
// The gate (agent/core/step/gate.hpp). A lane that was busy for d under a ceiling c rests d * (1 -
// c) / c before its next grant, so over any window it is busy for at most c of it and one grant.
// Under a ceiling a policy's slice is handed out in pieces of about kGatePeriod * c with rests
// between, as one turn: the policy is asked again only when the slice is used up. The rest is
// worked out from the ceiling of the moment, so a ceiling that rises ends it early, and one of 0
// holds until it rises.
//
// Readings. A gate chops power faster than a meter samples it, so a reading shows whatever the
// lanes did just then. What the governor wants is the mean at the present ceilings, and what the
// lanes did is known exactly. With s the use a reading shows (the lane's own on and off through a
// first-order lag of kMeterLag), c its ceiling, w what it draws (power/model/lane_weights.hpp):
//   mean = reading + sum over gated lanes of w * (c * kept - s)
// `kept` is the part of its ceiling the lane really got, measured per cycle: timers are late, never
// early. The mean of s over time is c * kept, so a wrong w makes the estimate noisy, not biased.
// The energy meter is told the same way how far the mean of an interval lay from that of its ends:
//   between = sum over lanes of w * (mean of s over the interval - mean of s at its two ends)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/core/state/limits.hpp"
#include "agent/core/state/task.hpp"
#include "base/archive.hpp"
#include "base/enum_array.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "power/model/governor.hpp"
#include "power/model/lane_weights.hpp"

namespace laird::core {

inline constexpr DurationNs kGatePeriod = 250 * kMillisecond;
// A piece is stretched to a whole loss report, which is then a mean over the usual count of
// samples, as long as that takes no longer than this.
inline constexpr DurationNs kGateReportMax = 500 * kMillisecond;
inline constexpr DurationNs kMeterLag = 50 * kMillisecond;
inline constexpr std::int64_t kCapMwMax = 10'000'000;
inline constexpr DurationNs kCapForMax = 366 * kDay;
inline constexpr double kSeenSumMax = static_cast<double>(kDay);

[[nodiscard]] constexpr bool is_cap(std::int64_t mw) { return mw >= 1 && mw <= kCapMwMax; }

// What the core needs to know of the board to hold a cap.
struct PowerConfig {
  std::optional<std::int64_t> cap_mw;  // the config's own; absent: none
  power::GovernorConfig governor;
  std::int64_t gpu_dynamic_mw = 0;  // each kind of lane in full use, above idle
  std::int64_t cpu_dynamic_mw = 0;

  [[nodiscard]] static PowerConfig for_board(const power::Board& board);
  [[nodiscard]] bool fits_limits() const;
  [[nodiscard]] bool same_model(const PowerConfig& other) const;
  void archive(Archive& ar);
};

enum class CapSource : std::uint8_t { kNone, kConfig, kOperator, kFleet, kTemperature };
[[nodiscard]] std::string_view name(CapSource source);

struct CapInForce {
  std::optional<std::int64_t> mw;
  CapSource source = CapSource::kNone;
};

// One task's part of a slice that is handed out in pieces.
struct TurnShare {
  TaskKey key = 0;
  std::uint32_t share_ppm = kShareWholePpm;
  void archive(Archive& ar) {
    ar(key);
    ar(share_ppm);
  }
};

struct LaneGate {
  std::uint32_t ceiling_ppm = kShareWholePpm;  // of the lane's time
  TimeNs busy_from = 0;                        // the spell of work in progress, or the last one
  TimeNs busy_until = 0;
  bool wanted_since = false;  // somebody could have run ever since the last spell
  DurationNs turn_left = 0;   // lane time of the policy's slice still to hand out
  std::vector<TurnShare> turn;
  std::uint32_t kept_ppm = kShareWholePpm;
  double seen = 0.0;  // use as a reading would show it, 0 to 1
  TimeNs seen_at = 0;
  double seen_then = 0.0;    // the same at the last reading
  double seen_sum_ns = 0.0;  // and its integral since
  void archive(Archive& ar);
  [[nodiscard]] bool fits_limits() const;
};

struct PowerState {
  std::optional<std::int64_t> operator_cap_mw;
  TimeNs operator_cap_until = kNever;
  std::optional<std::int64_t> fleet_cap_mw;
  EnumArray<LaneKind, std::uint32_t, 2> fleet_ceiling_ppm{kShareWholePpm, kShareWholePpm};
  power::Governor governor;
  power::LaneWeights weights;
  TimeNs held_since = kNever;           // the governor has held work back from then on
  std::optional<std::int64_t> mean_mw;  // what the governor made its last step with
  std::optional<std::int64_t> hottest_mc;
  TimeNs mean_at = 0;
  TimeNs read_at = 0;  // the last reading with a total

  // For the fleet's part of the core; takes effect within the same step. Absent: no cap of its.
  void set_fleet_cap_mw(std::optional<std::int64_t> cap_mw) { fleet_cap_mw = cap_mw; }
  void set_fleet_ceiling_ppm(LaneKind kind, std::uint32_t ppm) {
    fleet_ceiling_ppm[kind] = ppm < kShareWholePpm ? ppm : kShareWholePpm;
  }
  // The lowest of the caps asked for, and whose it is.
  [[nodiscard]] CapInForce asked(const PowerConfig& config) const;
  // The same, with the one that temperature makes.
  [[nodiscard]] CapInForce in_force(const PowerConfig& config) const;
  [[nodiscard]] bool fits_limits() const;
  void archive(Archive& ar);
};

}  // namespace laird::core
