// Everything the core can ask for. The agent, the simulator and the replay each carry these out
// in their own way; the core never learns how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/core/state/task.hpp"
#include "base/archive.hpp"
#include "base/error.hpp"
#include "power/model/governor.hpp"

namespace laird::core {

struct StartTrainer : ProcessRef {};
// Work until the cumulative sample count reaches `until`; share of the lane it may use meanwhile.
struct RunTrainer : ProcessRef {
  std::uint64_t until = 0;
  std::uint32_t cpu_milli = 1000;  // quota while it runs, thousandths of a core
  void archive(Archive& ar);
};
struct PreemptTrainer : ProcessRef {};
struct CheckpointTrainer : ProcessRef {};
struct StopTrainer : ProcessRef {};  // checkpoint, then exit
struct KillTrainer : ProcessRef {};  // now, the whole process group
struct WakeAt {                      // replaces any earlier wish
  TimeNs at = kNever;
  void archive(Archive& ar) { ar(at); }
};
// The answer to a request that carried a number.
struct Answer {
  std::uint64_t request = 0;
  bool ok = false;
  Code code = Code::kInvalid;
  TaskKey key = 0;
  std::string text;
  // The command was carried out when it came before, and nothing was done now. Not archived: in the
  // journal the text says it, as it always has.
  bool done_before = false;
  void archive(Archive& ar);
};
struct TaskChanged {  // for logs, displays and the fleet
  TaskKey key = 0;
  TaskState state = TaskState::kQueued;
  Outcome outcome = Outcome::kNone;
  void archive(Archive& ar);
};
struct LimitTrainer : ProcessRef {  // another CPU quota for a trainer at work
  std::uint32_t cpu_milli = 1000;
  void archive(Archive& ar);
};
// Every trainer runs only for this part of each short period, frozen for the rest of it.
struct SetFreezerDuty {
  std::int32_t run_permille = power::kLevelFull;
  void archive(Archive& ar) { ar(run_permille); }
};
// A clock cap or a power mode, through the privileged helper; answered by PowerKnobSet.
struct SetPowerKnob {
  power::Rung rung = power::Rung::kDevfreq;
  std::int32_t level_permille = power::kLevelFull;
  void archive(Archive& ar);
};
struct ExitNow {  // shutdown complete: every trainer has stopped
  void archive(Archive&) {}
};

struct SendToPeer {  // one message of the ledger
  std::string to;
  std::string bytes;
  void archive(Archive& ar);
};
enum class NoticeKind : std::uint8_t {
  kFenced,
  kUnfenced,
  kPlan,
  kRefusedCommand,
  kDrain,
  kConfig,
  kWire,      // a peer speaks another version of the wire form
  kSchedule,  // a recurring task missed a window
  kMove       // a task went to another board, came from one, or did not
};
struct Notice {  // something people should hear of
  NoticeKind kind = NoticeKind::kPlan;
  std::string text;
  void archive(Archive& ar);
};

// Write the model as files into its folder, before it is told to go.
struct ExportModel : ProcessRef {};

struct SendTitle {  // one packet on titles (consensus/titles/desk.hpp)
  std::string to;
  std::string bytes;
  void archive(Archive& ar);
};
// Read the task's checkpoint, so that it can travel; answered by CheckpointRead.
struct CopyCheckpoint : ProcessRef {};

struct SendRun {  // a word on an earlier run (agent/core/step/runs/run_words.hpp)
  std::string to;
  std::string bytes;
  void archive(Archive& ar);
};

using EffectBody =
    std::variant<StartTrainer, RunTrainer, PreemptTrainer, CheckpointTrainer, StopTrainer,
                 KillTrainer, WakeAt, Answer, TaskChanged, ExitNow, LimitTrainer, SetFreezerDuty,
                 SetPowerKnob, SendToPeer, Notice, ExportModel, SendTitle, CopyCheckpoint, SendRun>;

struct Effect {
  EffectBody body;
  void archive(Archive& ar);
};

using Effects = std::vector<Effect>;

[[nodiscard]] std::string_view name(NoticeKind kind);
[[nodiscard]] std::string_view name(const EffectBody& body);
[[nodiscard]] std::string describe(const EffectBody& body);

}  // namespace laird::core
