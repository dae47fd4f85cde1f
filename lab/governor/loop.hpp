// The governor in a closed loop around a modelled board.
//
// The load is a demand: the share of each lane's time that work would take if nothing held it
// back. The gate turns its level into a ceiling on lane time (power/model/power_gate.hpp), so
// use = min(demand, ceiling), with weights that start wrong (the GPU 40 % too dear, the CPU 10 %
// too cheap) and are learned (power/model/lane_weights.hpp). `kDuty` is a blunt gate without
// weights that cuts whatever runs, use = demand * level, for comparison. A move takes effect after
// the actuation delay, readings come at their period with a tenth of jitter, rounded to the meter's
// step, and the supply lags: the governor sees nothing a real one would not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "lab/governor/captures.hpp"
#include "power/model/board.hpp"
#include "power/model/governor.hpp"

namespace laird::lab {

struct LoadPoint {
  TimeNs at = 0;
  double gpu = 0;  // demand of each lane, 0 to 1
  double cpu = 0;
};

struct CapPoint {
  TimeNs at = 0;
  std::int64_t cap_mw = 0;
};

enum class GateKind : std::uint8_t { kCeiling, kDuty };

struct Scenario {
  std::string name;
  std::vector<LoadPoint> load;  // held until the next point
  std::vector<CapPoint> caps;
  DurationNs length_ns = 0;
  double noise = 0;  // relative, one sigma, of the dynamic power; correlated over about a second
  bool stepped = false;  // load and cap move in steps far enough apart to ask for settling
};

struct LoopConfig {
  DurationNs reading_period_ns = 100 * kMillisecond;
  DurationNs actuation_delay_ns = 100 * kMillisecond;
  GateKind gate = GateKind::kCeiling;
  std::uint64_t seed = 1;
  bool keep_trace = false;
};

struct TracePoint {
  double at_s = 0;
  double power_w = 0;
  double demand_w = 0;
  double cap_w = 0;
  std::int32_t gate_permille = 0;
};

struct LoopResult {
  std::string name;
  double seconds = 0;
  double constrained_seconds = 0;  // demand above the cap
  double mean_to_cap_percent = 0;  // mean power while constrained, less the cap
  // The same against a governor that knows the future, on the same lagging supply: bursts of a few
  // hundred milliseconds end before the supply has followed, whoever governs.
  double mean_to_best_percent = 0;
  double above_percent_of_time = 0;  // power above cap + 5 %
  double settle_seconds_max = 0;     // after a step, until within 5 % of the cap for good
  std::uint64_t steps = 0;
  std::uint64_t moves = 0;
  std::uint64_t steady_moves_per_2s_max = 0;  // where load and cap stood still for 5 s
  double steady_seconds = 0;
  bool settled = true;
  std::vector<TracePoint> trace;
};

[[nodiscard]] power::GovernorConfig governor_config_for(const power::Board& board);

[[nodiscard]] LoopResult run_loop(const power::Board& board, const Scenario& scenario,
                                  const LoopConfig& config);

// Constant, stepped and noisy loads and caps around the middle of the board's range.
[[nodiscard]] std::vector<Scenario> synthetic_scenarios(const power::Board& board);

// Two ways to make a recording the demand on this board, each with the cap in the middle of the
// dynamic range; empty when it has too few readings or hardly moves.
// By power: its 5th to 95th percentile is stretched over the dynamic range, both lanes alike.
[[nodiscard]] std::optional<Scenario> scenario_from_power(const RecordedTrace& trace,
                                                          const power::Board& board);
// By load: the recorded load of GPU and CPU, each stretched to its own 95th percentile. The lanes
// go up and down apart, so how much a step of the gate is worth changes all the time.
[[nodiscard]] std::optional<Scenario> scenario_from_loads(const RecordedTrace& trace,
                                                          const power::Board& board);

}  // namespace laird::lab
