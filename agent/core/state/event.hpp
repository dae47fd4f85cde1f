// Everything the core is ever told. An event is journalled before it is stepped, so each has one
// encoding, and nothing else may influence a decision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/core/calendar/window.hpp"
#include "agent/core/state/fleet.hpp"
#include "agent/core/state/power.hpp"
#include "agent/core/state/task.hpp"
#include "base/archive.hpp"
#include "base/time.hpp"
#include "power/model/meter.hpp"

namespace laird::core {

struct LaneConfig {
  std::string name;
  LaneKind kind = LaneKind::kCpu;
  std::uint32_t cores_milli = 1000;  // CPU the lane's trainers may use, in thousandths of a core
  void archive(Archive& ar);
};

struct TrainerTiming {
  DurationNs start_timeout = 2 * kMinute;
  DurationNs hang_timeout = kMinute;
  DurationNs preempt_timeout = 30 * kSecond;
  DurationNs stop_grace = 10 * kSecond;
  DurationNs checkpoint_every = 30 * kSecond;
  DurationNs backoff_min = kSecond;
  DurationNs backoff_max = kMinute;
  std::uint32_t attempts_max = 5;  // crashes in a row, without a new checkpoint, before giving up
  void archive(Archive& ar);
};

// What the core needs to know of the board and of its operator's wishes.
struct CoreConfig {
  std::string node = "board";
  std::vector<LaneConfig> lanes;
  std::int64_t memory_bytes = 0;  // for all trainers together
  std::vector<std::string> trainers;
  std::string policy = "foresight";
  DurationNs slice = kSecond;
  TrainerTiming timing;
  power::MeterConfig meter;
  PowerConfig power;
  std::uint64_t seed = 0;
  FleetConfig fleet;
  void archive(Archive& ar);
};

// A config as the agent makes it from its schema; anything else is not one of ours.
[[nodiscard]] Status check_config(const CoreConfig& config);

// The agent (re)started: every trainer process of an earlier run is gone.
struct Booted {
  TimeNs wall_ns = 0;
  CoreConfig config;
  TimeNs machine_ns = 0;           // the machine's own clock: since its boot, sleep included
  std::uint64_t machine_boot = 0;  // names that boot; 0: not known
  std::uint64_t program = 0;       // names the build of the agent; 0: not known
  Zone zone{};                     // what local time is
  void archive(Archive& ar);
};
struct Ticked {  // a timer the core asked for went off
  void archive(Archive&) {}
};
struct ClockStepped {  // the wall clock jumped against the agent's own time, or the zone is another
  TimeNs wall_ns = 0;
  Zone zone{};
  void archive(Archive& ar);
};
struct Submitted {
  std::uint64_t request = 0;  // pairs the answer with the asker
  TaskSpec spec;
  bool replace = false;  // takes the name of the task that has it
  void archive(Archive& ar);
};
struct CancelRequested {
  std::uint64_t request = 0;
  std::string task;
  void archive(Archive& ar);
};
struct PauseRequested {
  std::uint64_t request = 0;
  std::string task;
  void archive(Archive& ar);
};
struct ResumeRequested {
  std::uint64_t request = 0;
  std::string task;
  void archive(Archive& ar);
};
struct TrainerReady : ProcessRef {
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  void archive(Archive& ar);
};
struct TrainerProgressed : ProcessRef {
  std::uint64_t samples = 0;
  double loss = 0.0;
  void archive(Archive& ar);
};
struct TrainerCheckpointed : ProcessRef {
  std::uint64_t samples = 0;
  void archive(Archive& ar);
};
struct TrainerDone : ProcessRef {};
// The trainer reported an error, broke the protocol, or could not be started.
struct TrainerFailed : ProcessRef {
  std::string why;
  void archive(Archive& ar);
};
struct TrainerExited : ProcessRef {
  std::int32_t exit_code = 0;  // -signal when a signal ended it
  void archive(Archive& ar);
};
struct PowerSampled {  // its time is the event's
  power::PowerReading reading;
  void archive(Archive& ar) { ar(reading); }
};
struct ShutdownRequested {
  void archive(Archive&) {}
};
struct CapRequested {  // an operator sets a power cap, or with none takes it back
  std::uint64_t request = 0;
  std::optional<std::int64_t> cap_mw;
  DurationNs for_ns = 0;  // 0: until it is taken back
  void archive(Archive& ar);
};
struct PowerKnobSet {  // how a SetPowerKnob ended
  power::Rung rung = power::Rung::kDevfreq;
  power::KnobResult outcome = power::KnobResult::kDone;
  std::int32_t actual_permille = power::kLevelFull;  // as read back: clocks are rounded
  std::string note;
  void archive(Archive& ar);
};

// Take no new tasks; what runs goes on.
struct DrainRequested {
  std::uint64_t request = 0;
  bool drain = true;  // false: take tasks again
  void archive(Archive& ar);
};
// The link is up and the broker was asked: has a board of this name been in the fleet before?
struct FleetJoined {
  bool seen_before = false;
  void archive(Archive& ar) { ar(seen_before); }
};
// What peers' ledgers said since the last tick.
struct PeerMessage {
  std::string from;
  std::string bytes;
  void archive(Archive& ar);
};
struct PeersHeard {
  std::vector<PeerMessage> messages;
  void archive(Archive& ar);
};
// A newer budget for the fleet.
struct BudgetChanged {
  std::uint64_t request = 0;
  FleetBudget budget;
  void archive(Archive& ar);
};
// A command that came over the network, signed by an operator who may give it. Done at most once,
// however often it arrives.
// An operator changes the settings, or confirms a change. The agent keeps and applies them; the
// core sees to it that it is done once, and that the journal says who asked for what.
struct ConfigRequested {
  std::uint64_t request = 0;
  std::string what;  // "op-alice: power.cap"
  void archive(Archive& ar);
};
// Another deadline or weight for a task that is not over. At most one of the deadlines is set.
struct EditRequested {
  std::uint64_t request = 0;
  std::string task;
  DurationNs deadline_add = 0;    // later by so much, or earlier
  DurationNs deadline_after = 0;  // so long from now
  TimeNs deadline_wall = 0;
  std::uint32_t weight_milli = 0;  // 0: as it is
  WeeklyWindow window{};           // of a recurring task; none: as it is
  void archive(Archive& ar);
};
// Puts a task away that is over.
struct RemoveRequested {
  std::uint64_t request = 0;
  std::string task;
  void archive(Archive& ar);
};
// A task that may move is to go to that board.
struct MoveRequested {
  std::uint64_t request = 0;
  std::string task;
  std::string to;
  void archive(Archive& ar);
};
using OperatorRequest = std::variant<Submitted, CancelRequested, PauseRequested, ResumeRequested,
                                     DrainRequested, BudgetChanged, CapRequested, ConfigRequested,
                                     EditRequested, RemoveRequested, MoveRequested>;
struct OperatorCommand {
  std::uint64_t request = 0;
  std::string by;  // the operator
  std::string id;
  TimeNs expires_wall = 0;
  OperatorRequest body;
  void archive(Archive& ar);
};
// One that was refused before it got here: kept for the audit.
struct CommandRefused {
  std::string by;  // as claimed
  std::string id;
  std::string verb;
  std::string why;
  void archive(Archive& ar);
};

// What became of a change of the settings: for the journal and for people.
struct ConfigNoted {
  std::string text;
  void archive(Archive& ar);
};

// Another agent joined the broker under this board's name: what this one holds is not its own any
// more, and whatever it is given must be given anew.
struct Displaced {
  void archive(Archive&) {}
};

// A trainer with work left gives its lane back: it waits for something that is not here yet, as the
// trainer of a co-training task does for other boards.
struct TrainerYielded : ProcessRef {
  DurationNs for_ns = 0;  // it is no candidate for so long
  void archive(Archive& ar);
};

// A promotion has put a model in place, and says what it is like.
struct TrainerPromoted : ProcessRef {
  Promotion promotion;
  void archive(Archive& ar);
};

// Who takes part in a co-training task, for people: the task's reason while it is at work, and what
// its end says of the model.
struct GroupNoted : ProcessRef {
  std::string note;
  void archive(Archive& ar);
};

// What peers said about titles since the last tick.
struct TitlesHeard {
  std::vector<PeerMessage> messages;
  void archive(Archive& ar);
};

// What a CopyCheckpoint found in the task's folder: files, none if it is too large to travel or
// there is none.
struct CopiedFile {
  std::string name;
  std::string bytes;
  void archive(Archive& ar);
};
struct CheckpointRead : ProcessRef {
  std::vector<CopiedFile> files;
  bool too_large = false;
  void archive(Archive& ar);
};

// What peers said about earlier runs since the last tick.
struct RunsHeard {
  std::vector<PeerMessage> messages;
  void archive(Archive& ar);
};

using EventBody =
    std::variant<Booted, Ticked, ClockStepped, Submitted, CancelRequested, PauseRequested,
                 ResumeRequested, TrainerReady, TrainerProgressed, TrainerCheckpointed, TrainerDone,
                 TrainerFailed, TrainerExited, PowerSampled, ShutdownRequested, CapRequested,
                 PowerKnobSet, DrainRequested, FleetJoined, PeersHeard, BudgetChanged,
                 OperatorCommand, CommandRefused, ConfigNoted, Displaced, TrainerYielded,
                 TrainerPromoted, EditRequested, RemoveRequested, GroupNoted, MoveRequested,
                 TitlesHeard, CheckpointRead, RunsHeard>;

struct Event {
  TimeNs at = 0;  // the agent's own time: never goes back within a journal
  EventBody body;

  // Writes or reads the time, the kind and the body.
  void archive(Archive& ar);
};

// A text for people: cut at kReasonBytesMax on a UTF-8 boundary, what cannot be printed made '?'.
[[nodiscard]] std::string clipped(std::string text);

[[nodiscard]] std::string_view name(const EventBody& body);
// Events that carry a promise reach the disk (fsync) before anything acts on them.
[[nodiscard]] bool is_promise(const EventBody& body);
// One line for people: "progress task=3 attempt=1 samples=5000 loss=0.81".
[[nodiscard]] std::string describe(const EventBody& body);

}  // namespace laird::core
