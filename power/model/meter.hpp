// Energy from power readings taken at irregular times, and whose it was.
//
// Method: trapezoidal rule between neighbouring readings, in integers (half mW ns, carried into
// uJ), so that the sum does not depend on the order of rounding and replays bit for bit.
//   E = sum over k of (P[k-1] + P[k]) / 2 * (t[k] - t[k-1])
// Only the instantaneous number of each rail is used; the mean tegrastats prints beside it runs
// from the start of tegrastats and would count the past again.
//
// A throttle that lets work run in short bursts makes power change faster than it is read, and
// readings may fall into step with it. What ran between them is known, so the caller may say by how
// much the mean of the interval lay above the mean of its ends (`between`), and
//   E = sum over k of ((P[k-1] + P[k]) / 2 + between[k]) * (t[k] - t[k-1])
//
// Gaps: two readings further apart than gap_max are not joined. The time between counts as
// unmetered, and is reported beside the energy.
//
// Error bounds, each in uJ over the metered time:
//   resolution, worst   sum of step / 2 * dt           every reading off by half a step, same side
//   resolution, likely  step / sqrt(12) * sqrt(sum dt^2)  independent rounding, one sigma
//   sampling            sum of |P[k] - P[k-1]| / 2 * dt   if power moves one way between readings
//
// Attribution of an interval's energy E over dt (stated, and tested to add up exactly):
//   idle part     min(E, idle power * dt): shared among the tasks that ran in proportion to the
//                 time they ran, for the part of the interval in which any ran; the rest is the
//                 system's.
//   dynamic part  E - idle part: shared in proportion to time * share of the lane * the lane's
//                 dynamic power from the board file; the system's when nothing ran.
//   What integer division leaves over goes to the system.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"
#include "power/model/board.hpp"
#include "power/model/reading.hpp"

namespace laird::power {

// Microjoules with the rest in half mW ns: 1 uJ = 2,000,000 of them.
class Energy {
 public:
  void add(std::int64_t half_mw_ns);
  void add(const Energy& other);
  [[nodiscard]] std::int64_t uj() const { return uj_; }
  [[nodiscard]] double joules() const { return static_cast<double>(uj_) * 1e-6; }
  void archive(Archive& ar);

 private:
  std::int64_t uj_ = 0;
  std::int64_t rest_ = 0;
};

struct MeterConfig {
  DurationNs gap_max_ns = 5 * kSecond;
  std::int64_t idle_mw = 0;
  std::int64_t gpu_weight = 1;  // the lane's dynamic power, mW
  std::int64_t cpu_weight = 1;

  [[nodiscard]] static MeterConfig for_board(const Board& board);
  void archive(Archive& ar);
};

inline constexpr std::size_t kMeterTasksMax = 256;
inline constexpr std::size_t kMeterRunningMax = 64;
inline constexpr DurationNs kMeterGapMaxLimit = 5 * kMinute;
inline constexpr std::int64_t kMeterPowerMaxMw = 10'000'000;
static_assert(2 * kMeterPowerMaxMw <= INT64_MAX / kMeterGapMaxLimit,
              "the energy of the longest interval fits");

using TaskKey = std::uint64_t;

struct Running {
  TaskKey task = 0;
  LaneKind lane = LaneKind::kCpu;
  std::int32_t share_permille = 1000;  // of the lane

  void archive(Archive& ar);
};

struct TaskEnergy {
  TaskKey task = 0;
  Energy dynamic;
  Energy idle;
  DurationNs busy_ns = 0;  // time it ran, metered or not
  std::int64_t samples = 0;
  std::optional<double> loss_first;
  std::optional<double> loss_last;
  // Since the last reading.
  DurationNs interval_busy_ns = 0;
  std::int64_t interval_weight = 0;

  [[nodiscard]] double joules() const { return dynamic.joules() + idle.joules(); }
  [[nodiscard]] std::optional<double> joules_per_sample() const;
  // Per unit of loss taken off; absent while the loss has not fallen.
  [[nodiscard]] std::optional<double> joules_per_loss() const;
  void archive(Archive& ar);
};

struct RailEnergy {
  std::string name;
  Energy energy;
  std::int64_t last_mw = 0;
  TimeNs last_at = 0;
  DurationNs metered_ns = 0;

  void archive(Archive& ar);
};

struct MeterTotals {
  Energy board;
  Energy system;         // not any task's
  Energy tasks_retired;  // of tasks whose account was closed
  DurationNs metered_ns = 0;
  DurationNs unmetered_ns = 0;
  DurationNs longest_gap_ns = 0;
  std::uint64_t gaps = 0;
  std::uint64_t readings = 0;
  std::uint64_t readings_without_total = 0;
  std::uint64_t readings_out_of_order = 0;
  Energy resolution_worst;
  Energy sampling;
  std::int64_t sum_dt_squared_ms2 = 0;
  std::int64_t resolution_mw = 0;
  std::uint64_t successes = 0;
  std::uint64_t failures = 0;
  Energy of_successes;
  Energy of_failures;

  [[nodiscard]] double resolution_likely_j() const;
  [[nodiscard]] std::optional<double> joules_per_success() const;  // failures' energy included
  [[nodiscard]] std::optional<double> mean_mw() const;             // over the metered time
  void archive(Archive& ar);
};

// A pure state machine: instants come in with the events, from one clock that does not go back.
class Meter {
 public:
  explicit Meter(const MeterConfig& config = {}) : config_(config) { limit_config(); }

  // What runs from `at` on, all lanes together; replaces what was said before.
  void on_running(TimeNs at, std::span<const Running> running);
  // `between_mw`: by how much mean power since the last reading with a total exceeded the mean of
  // that reading and this one, by what is known to have run; 0 where nothing is known.
  void on_reading(const PowerReading& reading, std::int64_t between_mw = 0);
  // Samples trained so far and the loss now, as the trainer reports them.
  void on_progress(TaskKey task, std::int64_t samples, double loss);
  // Closes the account and returns it; the energy stays in the totals.
  std::optional<TaskEnergy> retire(TaskKey task, bool success);
  // After a restart the chain of readings is broken: the time in between is a gap.
  void on_restart();

  [[nodiscard]] const MeterTotals& totals() const { return totals_; }
  [[nodiscard]] std::span<const TaskEnergy> tasks() const { return tasks_; }
  [[nodiscard]] std::span<const RailEnergy> rails() const { return rails_; }
  [[nodiscard]] const TaskEnergy* task(TaskKey task) const;
  // The board's power at the last reading that had a total.
  [[nodiscard]] std::optional<std::int64_t> last_total_mw() const { return last_mw_; }
  [[nodiscard]] const MeterConfig& config() const { return config_; }
  void set_config(const MeterConfig& config) {
    config_ = config;
    limit_config();
  }
  void archive(Archive& ar);

 private:
  void limit_config();
  TaskEnergy* account(TaskKey task);
  void advance_activity(TimeNs to);
  void clear_interval();
  void add_rails(const PowerReading& reading);
  void count_gap(DurationNs length);
  void integrate(TimeNs to, std::int64_t mw, std::int64_t between_mw);
  void attribute(std::int64_t energy, DurationNs dt);

  MeterConfig config_;
  MeterTotals totals_;
  std::vector<TaskEnergy> tasks_;
  std::vector<RailEnergy> rails_;
  std::vector<Running> running_;
  std::optional<std::int64_t> last_mw_;
  TimeNs last_at_ = 0;
  TimeNs activity_at_ = 0;
  DurationNs interval_covered_ns_ = 0;
  bool restarted_ = false;
};

}  // namespace laird::power
