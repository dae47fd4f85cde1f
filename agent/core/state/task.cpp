#include "agent/core/state/task.hpp"

#include <algorithm>
#include <array>

#include "base/require.hpp"

namespace laird::core {
namespace {

using S = TaskState;
using T = Trigger;

struct Transition {
  S from;
  T trigger;
  S to;
};

constexpr std::array kTransitions = {
    Transition{S::kQueued, T::kStart, S::kStarting},
    Transition{S::kQueued, T::kPause, S::kPaused},
    Transition{S::kQueued, T::kEnd, S::kEnded},
    Transition{S::kQueued, T::kReboot, S::kQueued},

    Transition{S::kStarting, T::kReady, S::kReady},
    Transition{S::kStarting, T::kCrashed, S::kBackoff},
    Transition{S::kStarting, T::kEvict, S::kEvicting},
    Transition{S::kStarting, T::kPause, S::kPausing},
    Transition{S::kStarting, T::kDecide, S::kFinishing},
    Transition{S::kStarting, T::kReboot, S::kQueued},

    Transition{S::kReady, T::kGrant, S::kRunning},
    Transition{S::kReady, T::kEvict, S::kEvicting},
    Transition{S::kReady, T::kCrashed, S::kBackoff},
    Transition{S::kReady, T::kPause, S::kPausing},
    Transition{S::kReady, T::kDecide, S::kFinishing},
    Transition{S::kReady, T::kReboot, S::kQueued},

    Transition{S::kRunning, T::kGrantSpent, S::kReady},
    Transition{S::kRunning, T::kPreempt, S::kPreempting},
    Transition{S::kRunning, T::kEvict, S::kEvicting},
    Transition{S::kRunning, T::kCrashed, S::kBackoff},
    Transition{S::kRunning, T::kPause, S::kPausing},
    Transition{S::kRunning, T::kDecide, S::kFinishing},
    Transition{S::kRunning, T::kReboot, S::kQueued},

    Transition{S::kPreempting, T::kPreempted, S::kReady},
    Transition{S::kPreempting, T::kEvict, S::kEvicting},
    Transition{S::kPreempting, T::kCrashed, S::kBackoff},
    Transition{S::kPreempting, T::kPause, S::kPausing},
    Transition{S::kPreempting, T::kDecide, S::kFinishing},
    Transition{S::kPreempting, T::kReboot, S::kQueued},

    Transition{S::kEvicting, T::kExited, S::kQueued},
    Transition{S::kEvicting, T::kPause, S::kPausing},
    Transition{S::kEvicting, T::kDecide, S::kFinishing},
    Transition{S::kEvicting, T::kReboot, S::kQueued},

    Transition{S::kBackoff, T::kRetry, S::kQueued},
    Transition{S::kBackoff, T::kPause, S::kPaused},
    Transition{S::kBackoff, T::kEnd, S::kEnded},
    Transition{S::kBackoff, T::kReboot, S::kQueued},

    Transition{S::kPausing, T::kExited, S::kPaused},
    Transition{S::kPausing, T::kResume, S::kEvicting},
    Transition{S::kPausing, T::kDecide, S::kFinishing},
    Transition{S::kPausing, T::kReboot, S::kPaused},

    Transition{S::kPaused, T::kResume, S::kQueued},
    Transition{S::kPaused, T::kEnd, S::kEnded},
    Transition{S::kPaused, T::kReboot, S::kPaused},

    Transition{S::kFinishing, T::kExited, S::kEnded},
    Transition{S::kFinishing, T::kReboot, S::kEnded},
};

const Transition* find(S state, T trigger) {
  for (const Transition& t : kTransitions) {
    if (t.from == state && t.trigger == trigger) return &t;
  }
  return nullptr;
}

}  // namespace

std::string_view name(LaneKind kind) { return kind == LaneKind::kGpu ? "gpu" : "cpu"; }

std::string_view name(TaskState state) {
  switch (state) {
    case S::kQueued: return "queued";
    case S::kStarting: return "starting";
    case S::kReady: return "ready";
    case S::kRunning: return "running";
    case S::kPreempting: return "pausing";
    case S::kEvicting: return "evicting";
    case S::kBackoff: return "backoff";
    case S::kPausing: return "holding";
    case S::kPaused: return "held";
    case S::kFinishing: return "finishing";
    case S::kEnded: return "ended";
  }
  return "unknown";
}

std::string_view name(Trigger trigger) {
  switch (trigger) {
    case T::kStart: return "start";
    case T::kReady: return "ready";
    case T::kGrant: return "grant";
    case T::kGrantSpent: return "grant spent";
    case T::kPreempt: return "pause";
    case T::kPreempted: return "paused";
    case T::kEvict: return "evict";
    case T::kExited: return "exited";
    case T::kCrashed: return "crashed";
    case T::kRetry: return "retry";
    case T::kPause: return "hold";
    case T::kResume: return "release";
    case T::kDecide: return "decide";
    case T::kEnd: return "end";
    case T::kReboot: return "reboot";
  }
  return "unknown";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNone: return "none";
    case Outcome::kSucceeded: return "succeeded";
    case Outcome::kMissed: return "missed";
    case Outcome::kExhausted: return "exhausted";
    case Outcome::kFailed: return "failed";
    case Outcome::kCancelled: return "cancelled";
    case Outcome::kMoved: return "moved";
  }
  return "unknown";
}

std::string_view name(MoveStage stage) {
  switch (stage) {
    case MoveStage::kNone: return "none";
    case MoveStage::kStopping: return "stopping";
    case MoveStage::kReading: return "reading";
    case MoveStage::kWaiting: return "waiting";
    case MoveStage::kGiving: return "giving";
  }
  return "unknown";
}

void Moving::archive(Archive& ar) {
  ar(title);
  ar(moves);
  ar.bounded(stage, MoveStage::kGiving);
  ar.text(to, kNameBytesMax);
  ar(until, copied_at);
  ar(came);
  ar.text(note, kReasonBytesMax);
}

bool has_process(TaskState state) {
  switch (state) {
    case S::kStarting:
    case S::kReady:
    case S::kRunning:
    case S::kPreempting:
    case S::kEvicting:
    case S::kPausing:
    case S::kFinishing: return true;
    case S::kQueued:
    case S::kBackoff:
    case S::kPaused:
    case S::kEnded: return false;
  }
  return false;
}

TaskState next_state(TaskState state, Trigger trigger) {
  const Transition* found = find(state, trigger);
  LAIRD_REQUIRE(found != nullptr, "task life cycle: transition not in the table");
  return found->to;
}

bool is_listed(TaskState state, Trigger trigger) { return find(state, trigger) != nullptr; }

void TaskSpec::archive(Archive& ar) {
  ar.text(name, kNameBytesMax);
  ar.text(trainer, kNameBytesMax);
  ar.text(params, kParamsBytesMax);
  ar.bounded(lane, LaneKind::kCpu);
  ar(deadline_after, deadline_wall, target_loss, memory_bytes);
  ar(report_every, planned_samples, seed, splittable);
  if (ar.since(4)) ar(weight_milli);
  if (ar.since(5)) {
    ar(promote);
    ar.text(promotes, kNameBytesMax);
  }
  if (ar.since(6)) {
    ar(every);
    ar.text(run_of, kNameBytesMax);
  }
  if (ar.since(7)) {
    ar(movable);
    ar.text(sweep, kNameBytesMax);
    ar(sweep_stop_permille);
  }
}

bool TaskSpec::same_as(const TaskSpec& other) const {
  const auto bytes_of = [](TaskSpec spec) {
    Bytes out;
    Archive ar = Archive::writer(out);
    ar(spec);
    return out;
  };
  return bytes_of(*this) == bytes_of(other);
}

void Task::archive(Archive& ar) {
  ar(key);
  ar(spec);
  ar.bounded(state, TaskState::kEnded);
  ar.bounded(outcome, Outcome::kMoved);
  ar.text(reason, kReasonBytesMax);
  ar(accepted_at, deadline_at, ended_at, state_since, attempt, crashes, retry_at);
  ar(heard_at, ready_at, restore_ns, checkpoint_ns);
  ar(samples, checkpoint_samples, checkpoint_at, checkpoint_asked);
  ar(planned_samples, loss, loss_known, best_loss);
  ar(forecast);
  ar(lane, grant_until, grant_from, share_ppm, grant_at, slice_ends_at, rate);
  ar(busy_ns, switches, grants, grants_since_ready, energy_uj);
  if (ar.since(4)) {
    ar(time_sheet);
    ar(agent_deaths);
  }
  if (ar.since(5)) {
    ar(busy_heard_ns);
    ar(promotion);
    ar(submitted_digest);
    ar(fresh);
    ar(removed);
    ar(recalled);
  } else {
    busy_heard_ns = busy_ns;
  }
  if (ar.since(6)) ar(warm_from);
  if (ar.since(7)) {
    ar(moving);
    ar.text(recalled_from, kNameBytesMax);
    ar.text(recalled_task, kNameBytesMax);
    ar(recalled_same);
  }
}

TimeNs deadline_of(const TaskSpec& spec, TimeNs accepted_at, DurationNs wall_minus_agent) {
  const TimeNs by_length = accepted_at + spec.deadline_after;
  if (spec.deadline_wall <= 0) return by_length;
  const TimeNs by_clock = spec.deadline_wall - wall_minus_agent;
  return spec.deadline_after > 0 ? std::min(by_clock, by_length) : by_clock;
}

bool is_to_be_promoted(const Task& task) {
  return task.outcome == Outcome::kSucceeded && task.spec.promote.wanted;
}

bool is_waiting_for_peers(const Task& task, TimeNs now) {
  // A back-off that a restart of the agent cut short is none of this.
  return task.state == TaskState::kReady && task.crashes == 0 && task.retry_at > now &&
         task.retry_at <= now + kYieldMax;
}

}  // namespace laird::core
