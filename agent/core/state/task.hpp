// A task, what was asked for and how far it has come, and its life as one table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/core/calendar/window.hpp"
#include "agent/core/state/limits.hpp"
#include "agent/core/state/promotion.hpp"
#include "agent/core/state/time_sheet.hpp"
#include "base/archive.hpp"
#include "base/enum_array.hpp"
#include "base/time.hpp"
#include "consensus/titles/titles.hpp"
#include "estimators/model/forecaster.hpp"

namespace laird::core {

using TaskKey = std::uint32_t;  // given at acceptance, never reused by one journal

enum class LaneKind : std::uint8_t { kGpu, kCpu };
[[nodiscard]] std::string_view name(LaneKind kind);

// One trainer process of one task: attempts are numbered, so that what an earlier process of the
// same task said late is told apart.
struct ProcessRef {
  TaskKey key = 0;
  std::uint32_t attempt = 0;
  void archive(Archive& ar) {
    ar(key);
    ar(attempt);
  }
};

// What a task's success is worth beside that of others: 0.1 to 100, in thousandths.
inline constexpr std::uint32_t kWeightMilliOne = 1000;
inline constexpr std::uint32_t kWeightMilliMin = 100;
inline constexpr std::uint32_t kWeightMilliMax = 100'000;
[[nodiscard]] constexpr bool is_weight(std::uint32_t milli) {
  return milli >= kWeightMilliMin && milli <= kWeightMilliMax;
}

// When a task is to be done again (recurring.hpp), and what each run of it begins with.
struct EverySpec {
  WeeklyWindow window;      // none: it is done once
  bool warm_start = false;  // with the model of the run before it
  [[nodiscard]] bool wanted() const { return window.wanted() || warm_start; }
  void archive(Archive& ar) {
    ar(window);
    ar(warm_start);
  }
};

// What the submitter asked for; after acceptance only an edit changes it.
struct TaskSpec {
  std::string name;
  std::string trainer;        // a name on the board's allow-list
  std::string params = "{}";  // JSON text handed to the trainer as it is
  LaneKind lane = LaneKind::kCpu;
  // One is set: so long after acceptance, or at a wall-clock time (Unix ns). Of a run of a
  // recurring task both, and the earlier holds: it ends with its window, and when the clock is set
  // meanwhile, it becomes no longer than it was to be.
  DurationNs deadline_after = 0;
  TimeNs deadline_wall = 0;
  double target_loss = 0.0;
  std::int64_t memory_bytes = 0;
  std::uint64_t report_every = 1;     // B: samples between two loss reports
  std::uint64_t planned_samples = 0;  // epochs times data, 0 when the author did not say
  std::uint64_t seed = 0;
  bool splittable = false;
  std::uint32_t weight_milli = kWeightMilliOne;  // what its success is worth, in thousandths
  // Trains one model with other boards. Follows from `params`, which the core does not read, so it
  // is not archived: agent/settings/cotrain_task sets it where tasks are parsed and brought back.
  bool cotrain = false;
  PromoteSpec promote;  // what is to follow when it has succeeded
  std::string
      promotes;  // of a promotion: the task whose model it promotes, in whose folder it works
  EverySpec every;
  std::string run_of;    // of a run of a recurring task, and of its promotion: that task
  bool movable = false;  // the fleet may run it on another board
  // The sweep that it is a member of; empty: of none. Below this chance it ends early.
  std::string sweep;
  std::uint32_t sweep_stop_permille = 0;

  [[nodiscard]] double weight() const { return static_cast<double>(weight_milli) / 1000.0; }
  void archive(Archive& ar);
  [[nodiscard]] bool same_as(const TaskSpec& other) const;
  // The name of the folder that its trainer works in, which is also that of its model. All runs of
  // a recurring task have one.
  [[nodiscard]] const std::string& folder() const {
    return !run_of.empty() ? run_of : promotes.empty() ? name : promotes;
  }
  // The name of the file that takes what its trainer prints.
  [[nodiscard]] std::string log_name() const {
    return promotes.empty() ? folder() : promotion_name(folder());
  }
};

// The life of a task. A state says whether a trainer process exists and what it is doing.
enum class TaskState : std::uint8_t {
  kQueued,      // accepted, no process
  kStarting,    // process started, not ready yet
  kReady,       // process ready, holds no grant
  kRunning,     // process works on a grant of samples
  kPreempting,  // asked to stop at the next batch and checkpoint
  kEvicting,    // asked to checkpoint and exit so that another fits in memory
  kBackoff,     // crashed; waits before the next attempt
  kPausing,     // an operator paused it; asked to checkpoint and exit
  kPaused,      // an operator paused it; no process
  kFinishing,   // outcome decided; asked to checkpoint and exit
  kEnded,       // outcome final, no process
};

enum class Trigger : std::uint8_t {
  kStart,       // the core starts its trainer
  kReady,       // the trainer said ready
  kGrant,       // samples granted
  kGrantSpent,  // the grant's last sample was reported
  kPreempt,     // pause sent
  kPreempted,   // pause acknowledged
  kEvict,       // stop sent to free memory
  kExited,      // the process ended as asked
  kCrashed,     // the process ended, erred or hung unasked
  kRetry,       // back-off over
  kPause,       // operator pause
  kResume,      // operator resume
  kDecide,      // outcome decided while a process exists
  kEnd,         // outcome decided and no process is left
  kReboot,      // the agent started anew: every process is gone
};

enum class Outcome : std::uint8_t {
  kNone,
  kSucceeded,  // reached its target loss before its deadline
  kMissed,     // the deadline passed first
  kExhausted,  // the trainer did all its planned work without reaching the target
  kFailed,     // its trainer failed too often
  kCancelled,
  kMoved,  // another board has it; this one has no say in it any more
};
using OutcomeCounts = EnumArray<Outcome, std::uint64_t, 7>;

[[nodiscard]] std::string_view name(TaskState state);
[[nodiscard]] std::string_view name(Trigger trigger);
[[nodiscard]] std::string_view name(Outcome outcome);

// A process exists and counts against memory.
[[nodiscard]] bool has_process(TaskState state);
// The next state by the table; a pair that is not listed is a bug and stops the program.
[[nodiscard]] TaskState next_state(TaskState state, Trigger trigger);
// Whether the pair is listed: for those few places where the answer to "may I" is data.
[[nodiscard]] bool is_listed(TaskState state, Trigger trigger);

// How the note of a co-training task begins once its group has a model.
inline constexpr std::string_view kGroupNote = "made by ";

// How far an operator's wish that a task should move has come.
enum class MoveStage : std::uint8_t {
  kNone,
  kStopping,  // its trainer writes a checkpoint and leaves
  kReading,   // the checkpoint is read, to travel with it
  kWaiting,   // its backup, or the board that it goes to, is not known well enough yet
  kGiving,    // it is under way
};
[[nodiscard]] std::string_view name(MoveStage stage);

// Of a task that may move (docs/placement.md, "Titles").
struct Moving {
  consensus::TitleId title;  // none before the board has issued one
  std::uint32_t moves = 0;   // how often it came to another board
  MoveStage stage = MoveStage::kNone;
  std::string to;        // the board that it is to go to
  TimeNs until = 0;      // when the move is called off
  TimeNs copied_at = 0;  // when its checkpoint was last asked for, to be copied
  bool came = false;     // another board had it before this one
  std::string note;      // how it came here, or why it did not go; for people
  [[nodiscard]] bool titled() const { return title.issuer.valid(); }
  void archive(Archive& ar);
};

struct Task {
  TaskKey key = 0;
  TaskSpec spec;
  TaskState state = TaskState::kQueued;
  Outcome outcome = Outcome::kNone;
  std::string reason;  // why it ended, backs off or is held; for people

  TimeNs accepted_at = 0;
  TimeNs deadline_at = kNever;
  TimeNs ended_at = 0;
  TimeNs state_since = 0;

  // Trainer process.
  std::uint32_t attempt = 0;
  std::uint32_t crashes = 0;  // in a row, without a new checkpoint between
  TimeNs retry_at = 0;
  TimeNs heard_at = 0;
  TimeNs ready_at = 0;
  DurationNs restore_ns = 0;     // from start to ready, as measured; 0: not yet
  DurationNs checkpoint_ns = 0;  // from being told to pause or stop to having done so

  // Learning. samples is what the live process has done; a crash takes it back to the checkpoint.
  std::uint64_t samples = 0;
  std::uint64_t checkpoint_samples = 0;
  TimeNs checkpoint_at = 0;
  bool checkpoint_asked = false;
  std::uint64_t planned_samples = 0;  // from the spec, else from the trainer
  double loss = 0.0;
  bool loss_known = false;
  double best_loss = 0.0;
  estimators::Forecaster forecast;  // fed with every report

  // The current grant and how fast grants are used up (samples per second of the whole lane).
  std::int32_t lane = -1;
  std::uint64_t grant_until = 0;
  std::uint64_t grant_from = 0;
  std::uint32_t share_ppm = 0;
  TimeNs grant_at = 0;
  TimeNs slice_ends_at = 0;
  double rate = 0.0;

  DurationNs busy_ns = 0;        // its time on a lane, up to when it last left one
  DurationNs busy_heard_ns = 0;  // of that, up to its last report
  std::uint32_t switches = 0;    // times it took over a lane from another task
  std::uint32_t grants = 0;
  std::uint32_t grants_since_ready = 0;
  std::int64_t energy_uj = -1;  // once it has ended; -1: not metered
  TimeSheet time_sheet;         // what its time went to
  // How often in a row its agent ended while its trainer lived and had not proven itself yet
  // (limits.hpp). A start is journalled before it happens, so a trainer that ends its agent at once
  // is counted too.
  std::uint32_t agent_deaths = 0;
  Promotion promotion;  // of a promotion, once it is known
  // Of the spec as it was submitted, once an edit changed it; 0: it is as it was submitted.
  std::uint64_t submitted_digest = 0;
  bool fresh = false;     // it took the name of an earlier one, whose checkpoints are not its own
  bool removed = false;   // put away by an operator: nobody is shown it, and its name is free
  TaskKey recalled = 0;   // the earlier run that its forecast began from; 0: none
  TaskKey warm_from = 0;  // the earlier run whose model it begins with; 0: none
  Moving moving;
  // The earlier run was a peer's: whose, what it was called there, and whether it had the same
  // parameters. Empty: `recalled` says it.
  std::string recalled_from;
  std::string recalled_task;
  bool recalled_same = false;

  // Its trainer finds nothing in its folder: the task is new, and what is there is another's.
  [[nodiscard]] bool begins_afresh() const { return fresh && restore_ns == 0; }

  [[nodiscard]] ProcessRef process() const { return {key, attempt}; }
  void archive(Archive& ar);
};

// In agent time.
[[nodiscard]] TimeNs deadline_of(const TaskSpec& spec, TimeNs accepted_at,
                                 DurationNs wall_minus_agent);
// It has succeeded, and its model is to be promoted.
[[nodiscard]] bool is_to_be_promoted(const Task& task);
// Ready, but its trainer said that it has nothing to do yet: it waits for other boards.
[[nodiscard]] bool is_waiting_for_peers(const Task& task, TimeNs now);

}  // namespace laird::core
