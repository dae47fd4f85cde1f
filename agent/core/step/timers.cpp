// Everything that happens because time passed: deadlines, hung trainers, back-off, checkpoints.
#include <algorithm>

#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

// A running trainer is hung when it is silent for the configured time, but never before it had ten
// times the time its reports usually take.
constexpr double kReportsMissed = 10.0;

bool wants_checkpoint(const Task& task) {
  return (task.state == TaskState::kRunning || task.state == TaskState::kReady) &&
         !task.checkpoint_asked && task.samples > task.checkpoint_samples;
}

// Its agent died with its trainer there, and the trainer that it has now is young.
bool is_unproven(const Task& task) {
  return task.agent_deaths > 0 &&
         (task.state == TaskState::kReady || task.state == TaskState::kRunning ||
          task.state == TaskState::kPreempting);
}

}  // namespace

TimeNs Stepper::deadline_of(const TaskSpec& spec, TimeNs accepted_at) const {
  return core::deadline_of(spec, accepted_at, s_.wall_minus_agent);
}

TimeNs Stepper::hang_at(const Task& task) const {
  DurationNs patience = s_.config.timing.hang_timeout;
  if (task.rate > 0.0) {
    const double share = static_cast<double>(std::max<std::uint32_t>(task.share_ppm, 1)) /
                         static_cast<double>(kShareWholePpm);
    const double usual_ns = static_cast<double>(task.spec.report_every) / (task.rate * share) * 1e9;
    const double bound = std::min(kReportsMissed * usual_ns, static_cast<double>(kDay));
    patience = std::max(patience, static_cast<DurationNs>(bound));
  }
  return std::max(task.heard_at, task.grant_at) + patience;
}

// When a trainer that was told to go is killed. One that writes a model first has as long as one
// that starts.
TimeNs Stepper::gone_by(const Task& task) const {
  const TrainerTiming& timing = s_.config.timing;
  const bool exports = task.state == TaskState::kFinishing && is_to_be_promoted(task);
  return std::max(task.state_since, task.heard_at) +
         (exports ? std::max(timing.start_timeout, timing.stop_grace) : timing.stop_grace);
}

// The next instant at which `expire` would do something to this task.
TimeNs Stepper::due_at(const Task& task) const {
  const TrainerTiming& timing = s_.config.timing;
  TimeNs due = task.outcome == Outcome::kNone && is_ours(task) ? task.deadline_at : kNever;
  switch (task.state) {
    case TaskState::kStarting: due = std::min(due, task.state_since + timing.start_timeout); break;
    case TaskState::kRunning: due = std::min(due, hang_at(task)); break;
    case TaskState::kPreempting:
      due = std::min(due, task.state_since + timing.preempt_timeout);
      break;
    case TaskState::kBackoff:
      if (!s_.shutting_down) due = std::min(due, task.retry_at);
      break;
    case TaskState::kEvicting:
    case TaskState::kPausing:
    case TaskState::kFinishing: due = std::min(due, gone_by(task)); break;
    case TaskState::kReady:
      if (is_waiting(task)) due = std::min(due, task.retry_at);
      break;
    case TaskState::kQueued:
    case TaskState::kPaused:
    case TaskState::kEnded: break;
  }
  if (is_unproven(task)) due = std::min(due, task.ready_at + kProvenAfter);
  if (wants_checkpoint(task)) due = std::min(due, task.checkpoint_at + timing.checkpoint_every);
  return due;
}

void Stepper::expire(Task& task) {
  const TrainerTiming& timing = s_.config.timing;
  if (is_unproven(task) && s_.now >= task.ready_at + kProvenAfter) task.agent_deaths = 0;
  // Of a task that may be another board's by now that board says whether it made it.
  if (task.outcome == Outcome::kNone && s_.now >= task.deadline_at && is_ours(task)) {
    decide(
        task, Outcome::kMissed,
        task.loss_known ? "the deadline came first" : "the deadline came before any loss report");
    return;
  }
  switch (task.state) {
    case TaskState::kStarting:
      if (s_.now >= task.state_since + timing.start_timeout) {
        crash(task, "its trainer did not get ready in time");
      }
      return;
    case TaskState::kRunning:
      if (s_.now >= hang_at(task)) {
        crash(task, "its trainer hung: it held a grant and reported nothing");
        return;
      }
      break;
    case TaskState::kPreempting:
      if (s_.now >= task.state_since + timing.preempt_timeout) {
        crash(task, "its trainer did not pause in time");
      }
      return;
    case TaskState::kBackoff:
      if (!s_.shutting_down && s_.now >= task.retry_at) move(task, Trigger::kRetry);
      return;
    case TaskState::kEvicting:
    case TaskState::kPausing:
    case TaskState::kFinishing:
      if (s_.now >= gone_by(task)) {
        out_.push_back({KillTrainer{task.process()}});
        task.heard_at = s_.now;
      }
      return;
    default: break;
  }
  if (wants_checkpoint(task) && s_.now >= task.checkpoint_at + timing.checkpoint_every) {
    task.checkpoint_asked = true;
    out_.push_back({CheckpointTrainer{task.process()}});
  }
}

void Stepper::expire_all() {
  for (Task& task : s_.live) expire(task);
}

void Stepper::set_wake() {
  TimeNs wake = power_due_at();
  for (const Task& task : s_.live) wake = std::min(wake, due_at(task));
  for (const Lane& lane : s_.lanes) {
    if (!lane.running.empty()) wake = std::min(wake, overrun_at(lane));
  }
  if (!s_.exit_sent) wake = std::min(wake, s_.fleet.tick_at);
  wake = std::min(wake, calendar_due_at());
  if (wake == s_.wake_at) return;
  s_.wake_at = wake;
  out_.push_back({WakeAt{wake}});
}

void Stepper::finish_shutdown() {
  if (!s_.shutting_down || s_.exit_sent) return;
  for (const Task& task : s_.live) {
    if (has_process(task.state)) return;
  }
  s_.exit_sent = true;
  out_.push_back({ExitNow{}});
}

}  // namespace laird::core
