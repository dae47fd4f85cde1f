// A board in virtual time around the unchanged core, fast enough for thousands of runs: one lane,
// trainers that follow given learning curves, no process ever fails.
//
// A curve is a list of losses, one per reporting interval of kSamplesPerPoint samples; between two
// points the loss is on the line between them, so a grant that ends inside an interval still has
// something to report. Past its last point a curve stays where it is. A trainer with half the lane
// works at half its speed. A board may be one of several in a cluster: then somebody else holds the
// clock and says when a trainer has its data.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"

namespace laird::lab {

inline constexpr std::uint64_t kSamplesPerPoint = 1000;
inline constexpr DurationNs kTimeUnit = kSecond;  // what the papers call one unit of time

struct SimulatedTask {
  const std::vector<double>* losses = nullptr;  // the curve; outlives the board
  double duration_units = 1.0;                  // of the whole curve with the lane to itself
  double arrival_units = 0.0;
  double deadline_units = 1.0;  // after its arrival
  double target_loss = 0.0;
  double restore_units = 0.0;     // to start its trainer, each time
  double checkpoint_units = 0.0;  // to stop it so that another fits in memory
  bool planned_length_known = false;
  // What the task's own forecaster starts from; nothing: as the core made it. For judging a policy
  // with constants that have not seen the task's curve.
  const estimators::ForecastConstants* forecast_constants = nullptr;
  const estimators::Trace* earlier = nullptr;  // of an earlier run of the task; outlives the board
  std::uint32_t weight_milli = core::kWeightMilliOne;
};

// Units of lane time until the curve first meets the target; negative when it never does.
[[nodiscard]] double need_units(const SimulatedTask& task);

struct RunResult {
  std::vector<bool> succeeded;  // per task
  std::uint64_t switches = 0;
  std::uint64_t grants = 0;  // task-slices
  std::uint64_t decisions = 0;
  DurationNs work_ns = 0;  // lane time in use, shares counted as such
  DurationNs span_ns = 0;  // from the start to the end of the last task
};

class CurveBoard {
 public:
  // `slice` is the configured slice policies start from.
  CurveBoard(const std::string& policy, std::uint64_t seed, DurationNs slice = kTimeUnit);

  // How many trainers fit in memory at once; 0: all.
  std::size_t resident_max = 0;
  // Called once after the boot, before any task: to hand a policy what only the lab has.
  std::function<void(policies::Policy&)> prepare_policy;
  // Called once with what the core will boot with: power, a fleet, another kind of lane.
  std::function<void(core::CoreConfig&)> configure;
  // Called for each message to a peer.
  std::function<void(const core::SendToPeer&)> send;
  // Called after every step.
  std::function<void(const core::State&, const core::Effects&)> after_step;
  // The same with the event: what a journal would hold.
  std::function<void(const core::Event&, const core::State&, const core::Effects&)> watch;

  // Called when a trainer is started, with its task's index; says whether somebody else will call
  // ready(). Nothing: ready at once.
  std::function<bool(std::uint32_t index, TimeNs now)> starting;
  // Called for each grant when it ends: which task, from when to when, with what part of the lane.
  std::function<void(std::uint32_t index, TimeNs from, TimeNs to, double share)> after_grant;

  [[nodiscard]] RunResult run(const std::vector<SimulatedTask>& tasks);

  // The same in steps, for a cluster. `tasks` outlive the board.
  void begin(const std::vector<SimulatedTask>& tasks);
  void ready(std::uint32_t index, TimeNs at);
  // Something else happens to the board; `at` is not before anything that has happened.
  void tell(TimeNs at, core::EventBody body);
  // The part of its lane that is in use now.
  [[nodiscard]] double use() const;
  [[nodiscard]] TimeNs next_at() const;  // kNever: nothing can happen any more
  void happen_next();
  [[nodiscard]] RunResult finish() const;
  // When the task succeeded; kNever when it did not.
  [[nodiscard]] TimeNs succeeded_at(std::uint32_t index) const { return succeeded_at_[index]; }
  [[nodiscard]] const core::State& state() const { return state_; }
  // Of an accepted task, where it stands in what the run was given.
  [[nodiscard]] std::uint32_t index_of(core::TaskKey key) const { return index_of_[key]; }

 private:
  enum class Kind : std::uint8_t { kArrival, kReady, kReport, kPreempt, kExit, kWake };
  struct Happening {
    TimeNs at;
    std::uint64_t order;
    std::uint64_t generation;
    std::uint32_t task;
    Kind kind;
    bool operator<(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  struct Process {
    const SimulatedTask* task = nullptr;
    core::ProcessRef ref;
    std::uint64_t samples = 0;
    std::uint64_t until = 0;
    std::uint64_t generation = 0;  // of the run in progress: outdates reports of earlier ones
    std::uint64_t run_from = 0;
    TimeNs run_since = 0;
    double speed = 0.0;  // samples per ns with the share it has
    double share = 0.0;
    bool running = false;
  };

  void apply(core::EventBody body);
  void carry_out(const core::Effect& command);
  void later(TimeNs at, Kind kind, std::uint32_t task, std::uint64_t generation);
  void happen(const Happening& happening);
  void submit(std::uint32_t index);
  void next_report(Process& process);
  void report(Process& process);
  void pause(Process& process);
  void end_run(Process& process);
  [[nodiscard]] Process* find(const core::ProcessRef& ref);

  core::State state_;
  core::CoreConfig config_;
  core::Effects commands_;
  std::priority_queue<Happening> future_;
  std::vector<Process> processes_;       // by task index
  std::vector<std::uint32_t> index_of_;  // task index by key
  std::vector<TimeNs> succeeded_at_;
  TimeNs now_ = kSecond;
  TimeNs start_ = kSecond;
  TimeNs ended_at_ = kSecond;  // the last task, so far
  std::uint64_t order_ = 0;
  std::uint64_t wake_generation_ = 0;
  std::uint64_t grants_ = 0;
  double work_ns_ = 0.0;
};

}  // namespace laird::lab
