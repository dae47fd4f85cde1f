// What a journal tells about what did not follow from the core's decisions: what was asked of the
// board and when, how each task learns and how fast, what starting and stopping its trainer took,
// and what the board drew. A life is run again (rerun.hpp) from this alone.
//
// Symbols: s samples of a task; work, in nanoseconds of its whole lane at full clocks, that its
// first s samples took: time on the lane times the share of it times what the rungs of the throttle
// ladder beside the step gate leave (agent/core/step/gate.hpp). So two shares, or two clock levels,
// of one task speak of one work.
// Assumptions: a task learns and costs by its samples, whoever else runs and whenever it does; a
// trainer crashes where its work had come to, and takes as long to start, to pause and to stop the
// n-th time as it took then.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/core/state/state.hpp"
#include "agent/whatif/tally.hpp"
#include "estimators/model/forecaster.hpp"

namespace laird::whatif {

// Beyond so many reports of a task every second one goes.
inline constexpr std::size_t kPointsMax = 1'000'000;

inline constexpr std::uint64_t kNoGrant = UINT64_MAX;
struct CurvePoint {
  std::uint64_t samples = 0;
  double loss = 0.0;
  bool regular = false;  // neither the end of a grant nor of a pause's work
  // The end of a grant that began with so many samples; kNoGrant: it is none.
  std::uint64_t grant_from = kNoGrant;
};
struct WorkPoint {
  std::uint64_t samples = 0;
  double work_ns = 0.0;
};

struct StartRecord {
  DurationNs took = 0;
  bool ready = false;
  core::EventBody failure;  // when it was not ready
  // Its checkpoint was so much further, or less far, than the core knew: what it wrote last was not
  // heard of any more, or did not reach the disk.
  std::int64_t samples_off = 0;
};

// A trainer that ended, erred or hung by itself while it had work.
struct CrashRecord {
  std::uint64_t samples = 0;  // at its last report
  double work_ns = 0.0;       // of its lane since then
  TimeNs idle_at = 0;         // it had no work: it crashed at this moment; 0: it had
  bool hung = false;          // it went silent; otherwise `end` was heard
  core::EventBody end;
};

// It had nothing to do for a while: it waits for other boards.
struct YieldRecord {
  std::uint64_t samples = 0;
  DurationNs after = 0;  // the grant
  DurationNs for_ns = 0;
};

struct TaskRecord {
  TaskId id;
  core::TaskSpec spec;
  std::vector<CurvePoint> curve;  // ascending, each sample count once
  std::vector<WorkPoint> work;    // ascending; begins with what was done before the journal began
  std::map<std::uint32_t, StartRecord> starts;  // by attempt
  std::map<std::uint32_t, DurationNs> stops;
  std::vector<DurationNs> pauses;
  std::vector<DurationNs> checkpoints;
  std::vector<CrashRecord> crashes;
  std::vector<YieldRecord> yields;
  std::uint64_t planned_samples = 0;
  std::optional<std::uint64_t> done_at;  // samples with which the trainer said done
  std::optional<core::TrainerPromoted> promoted;
  DurationNs promoted_after = 0;
  estimators::Forecaster forecast;  // as it was at the end
  double rate = 0.0;                // samples per second of the whole lane, at the end

  [[nodiscard]] std::uint64_t samples_known() const {
    return work.empty() ? 0 : work.back().samples;
  }
  // Work until so many samples; beyond what was recorded, at the speed of the last part of it.
  [[nodiscard]] double work_at(double samples) const;
  [[nodiscard]] double samples_at(double work_ns) const;
  // Nothing: it was not recorded.
  [[nodiscard]] std::optional<double> loss_at(std::uint64_t samples) const;
  // Samples between two reports, as they came.
  [[nodiscard]] std::uint64_t spacing() const;

 private:
  friend class Recorder;
  void finish();
  double last_ns_per_sample_ = 0.0;
  std::uint64_t spacing_ = 1;
};

// The agent did nothing, though a timer of its core was due: the process stood still, or its disk
// did.
struct Stall {
  TimeNs from = 0;
  TimeNs to = 0;
};

// Of the agent's own time from then on, until its next start: what it then knew at last of the wall
// clock. A start may find a clock that is wrong, and the agent's own time goes on from there.
struct ClockSpan {
  TimeNs from = 0;
  DurationNs wall_minus_agent = 0;
};

// A message of the share ledger that the board sent or heard.
struct LedgerMessage {
  TimeNs at = 0;
  std::uint32_t digest = 0;       // of its bytes
  std::uint16_t peer = 0;         // in Recording::peers
  std::uint16_t listened_ms = 0;  // heard: how long before the board had listened last
};

// Whether a task's trainer works on samples, and whether it was told to go.
[[nodiscard]] bool is_at_work(core::TaskState state);
[[nodiscard]] bool was_told_to_go(core::TaskState state);

// What the fleet left the board; applied to a core that is in no fleet.
struct FleetLimits {
  std::optional<std::int64_t> cap_mw;
  std::array<std::uint32_t, 2> ceiling_ppm{core::kShareWholePpm, core::kShareWholePpm};
  // Of the power budget then: the board's floor, all floors, and what was divided above them.
  std::int64_t floor_mw = 0;
  std::int64_t floors_mw = 0;
  std::int64_t divided_mw = 0;
  bool operator==(const FleetLimits&) const = default;
};

// What happened to the board, whatever it decided.
struct Given {
  TimeNs at = 0;
  std::optional<core::EventBody> body;  // nothing: the fleet's limits change
  FleetLimits limits;
  bool is_made = false;         // by a change: nothing of it is changed any more
  TimeNs down_since = 0;        // of a start: the agent's last event before it
  std::array<double, 2> use{};  // of a power reading: what it shows of each kind of lane
};

struct Recording {
  Bytes first_state;  // before the first event; empty: a board that was never started
  TimeNs from = 0;
  TimeNs to = 0;
  DurationNs wall_minus_agent = 0;  // at the end
  std::vector<ClockSpan> clock;     // ascending
  std::string node;
  std::vector<Given> given;
  std::map<TaskId, TaskRecord> tasks;
  std::map<std::string, core::TaskSpec> recurring;  // what was done again in windows; by name
  std::vector<Stall> stalls;                        // ascending
  // When a board of a fleet looked at its shares. It looks at its lanes and its cap then too, so a
  // board that runs again without its fleet does it at these moments.
  std::vector<TimeNs> ticks;
  core::FleetBudget budget;         // at the end; founding epoch 0: in no fleet
  std::vector<std::string> peers;   // whom the board sent to or heard
  std::vector<LedgerMessage> sent;  // in the order of time
  std::vector<LedgerMessage> heard;
  bool shut_down = false;  // at the end: the agent was told to go
  Tally was;

  [[nodiscard]] TimeNs wall_at(TimeNs agent) const;
  [[nodiscard]] TimeNs agent_at(TimeNs wall) const;
  bool pauses_report = false;  // trainers tell their loss when they pause in the middle of work
  bool empty_grants_report = true;  // and when they were granted no more than they have done
  DurationNs tick_late = 0;         // the median of how late timers were
  DurationNs reading_every = 0;     // the median; 0: no power was read
  double base_mw = 0.0;             // what the board draws with its lanes at rest, by its readings
  std::array<double, 2> lane_mw{};  // and each kind of lane in full use above that
};

}  // namespace laird::whatif
