// What trainers say. Everything here comes from another program: it is checked against the task's
// state, and what does not fit counts as a failure of that trainer, never of the agent.
#include <algorithm>
#include <cmath>

#include "agent/core/step/stepper.hpp"
#include "agent/placement/sweep.hpp"

namespace laird::core {
namespace {

// How fast the rate of samples per second follows a new measurement.
constexpr double kRateGain = 0.25;
constexpr DurationNs kRateOver = 50 * kMillisecond;
// The exit code of a process that SIGKILL ended. The agent never sends it without being asked to.
constexpr std::int32_t kKilled = -9;

// Asked to stop and not expected to do anything else.
bool is_leaving(TaskState state) {
  return state == TaskState::kEvicting || state == TaskState::kPausing ||
         state == TaskState::kFinishing;
}

// Its time on a lane up to now.
DurationNs busy_at(const Task& task, TimeNs now) {
  return task.busy_ns + (task.lane >= 0 ? now - task.grant_at : 0);
}

// A report counts by the time it speaks of: reports are merged on their way, and two that arrive
// together would otherwise speak of a speed that nobody has. What counts is the time on the lane
// since the report before: a task that is throttled works in many short turns between two reports.
void update_rate(Task& task, std::uint64_t samples, TimeNs now) {
  const DurationNs busy = busy_at(task, now) - task.busy_heard_ns;
  if (task.state != TaskState::kRunning || samples <= task.samples || busy <= 0) return;
  const auto since = static_cast<double>(busy);
  double measured = static_cast<double>(samples - task.samples) / (since / 1e9);
  // Shares change from slice to slice: what is kept is the rate with the whole lane.
  if (task.share_ppm > 0 && task.share_ppm < kShareWholePpm) {
    measured *= static_cast<double>(kShareWholePpm) / static_cast<double>(task.share_ppm);
  }
  const double gain = kRateGain * std::fmin(1.0, since / static_cast<double>(kRateOver));
  task.rate = task.rate > 0.0 ? task.rate + gain * (measured - task.rate) : measured;
}

// A measured time, the newest counting half: trainers' checkpoints grow and shrink.
void average_in(DurationNs& mean, DurationNs measured) {
  mean = mean == 0 ? measured : mean + (measured - mean) / 2;
}

// How a trainer ended that nobody had told to.
std::string end_text(std::int32_t exit_code) {
  if (exit_code >= 0) {
    return "its trainer exited by itself with code " + std::to_string(exit_code);
  }
  const std::string text =
      "its trainer was ended by signal " + std::to_string(-std::int64_t{exit_code});
  return exit_code == kKilled ? text + ", which the kernel sends when memory runs out" : text;
}

}  // namespace

void Stepper::on(const TrainerReady& e) {
  Task* task = addressed(e);
  if (task == nullptr || is_leaving(task->state)) return;
  if (task->state != TaskState::kStarting || e.samples > kSamplesMax) {
    ++s_.counters.breaches;
    crash(*task, "its trainer said ready out of turn");
    return;
  }
  task->samples = e.samples;
  // The trainer's word on where it resumes counts: a checkpoint may have been lost or be newer.
  task->checkpoint_samples = e.samples;
  task->checkpoint_at = s_.now;
  if (task->planned_samples == 0 && e.planned_samples <= kSamplesMax) {
    task->planned_samples = e.planned_samples;
  }
  average_in(task->restore_ns, s_.now - task->state_since);
  task->heard_at = s_.now;
  task->busy_heard_ns = busy_at(*task, s_.now);
  task->ready_at = s_.now;
  task->time_sheet.saved();
  task->grants_since_ready = 0;
  task->reason.clear();
  move(*task, Trigger::kReady);
}

void Stepper::on(const TrainerProgressed& e) {
  Task* task = addressed(e);
  if (task == nullptr || task->state == TaskState::kFinishing) return;
  if (task->state == TaskState::kStarting || e.samples < task->samples || e.samples > kSamplesMax ||
      !std::isfinite(e.loss)) {
    ++s_.counters.breaches;
    if (is_leaving(task->state)) return;
    crash(*task, task->state == TaskState::kStarting ? "its trainer reported before it was ready"
                 : !std::isfinite(e.loss) ? "its trainer reported a loss that is no number"
                                          : "its trainer's sample count went backwards");
    return;
  }
  update_rate(*task, e.samples, s_.now);
  task->busy_heard_ns = busy_at(*task, s_.now);
  task->samples = e.samples;
  task->loss = e.loss;
  task->best_loss = task->loss_known ? std::fmin(task->best_loss, e.loss) : e.loss;
  task->loss_known = true;
  // Talk does not put off the end of a trainer that was told to go.
  if (!is_leaving(task->state)) task->heard_at = s_.now;
  // A refused report (no progress in samples, a loss that is not positive) leaves it as it was.
  static_cast<void>(task->forecast.observe(static_cast<double>(e.samples), e.loss));
  s_.meter.on_progress(task->key, static_cast<std::int64_t>(e.samples), e.loss);
  if (s_.policy != nullptr) s_.policy->observe(*task);
  if (e.loss <= task->spec.target_loss && s_.now <= task->deadline_at) {
    decide(*task, Outcome::kSucceeded, "reached its target loss");
    return;
  }
  if (std::string why = placement::hopeless_in_sweep(s_, *task, s_.now); !why.empty()) {
    decide(*task, Outcome::kCancelled, clipped(std::move(why)));
    return;
  }
  if (task->state == TaskState::kRunning && task->samples >= task->grant_until) {
    leave_lane(*task);
    move(*task, Trigger::kGrantSpent);
  }
}

void Stepper::on(const TrainerCheckpointed& e) {
  Task* task = addressed(e);
  if (task == nullptr || e.samples > kSamplesMax) return;
  if (task->state == TaskState::kStarting) {
    ++s_.counters.breaches;
    crash(*task, "its trainer spoke of a checkpoint before it was ready");
    return;
  }
  if (e.samples > task->checkpoint_samples) {
    task->crashes = 0;
    task->agent_deaths = 0;
  }
  task->checkpoint_samples = e.samples;
  task->checkpoint_at = s_.now;
  task->checkpoint_asked = false;
  task->time_sheet.saved();
  const Moving& moving = task->moving;
  const DurationNs pause = kCheckpointsPerCopy * s_.config.timing.checkpoint_every;
  const bool may_copy = moving.copied_at == 0 || s_.now - moving.copied_at >= pause;
  if (moving.stage == MoveStage::kNone && may_copy && is_ours(*task) && moving.titled()) {
    copy_checkpoint(*task);
  }
  if (!is_leaving(task->state)) task->heard_at = s_.now;
  if (task->state == TaskState::kPreempting) {
    average_in(task->checkpoint_ns, s_.now - task->state_since);
    leave_lane(*task);
    move(*task, Trigger::kPreempted);
  }
}

void Stepper::on(const TrainerDone& e) {
  Task* task = addressed(e);
  if (task == nullptr || is_leaving(task->state)) return;
  if (task->state == TaskState::kStarting) {
    ++s_.counters.breaches;
    crash(*task, "its trainer said done before it was ready");
    return;
  }
  decide(*task, Outcome::kExhausted, "did all its planned work without reaching its target loss");
}

void Stepper::on(const GroupNoted& e) {
  Task* task = addressed(e);
  if (task == nullptr || is_leaving(task->state) || task->state == TaskState::kStarting) return;
  task->reason = clipped(e.note);
}

void Stepper::on(const TrainerFailed& e) {
  Task* task = addressed(e);
  if (task == nullptr) return;
  if (is_leaving(task->state)) {
    // It was to go anyway; its exit settles the rest.
    out_.push_back({KillTrainer{task->process()}});
    return;
  }
  crash(*task, e.why);
}

void Stepper::on(const TrainerExited& e) {
  Task* task = addressed(e);
  if (task == nullptr) return;
  if (is_leaving(task->state)) {
    if (task->state != TaskState::kFinishing) task->samples = task->checkpoint_samples;
    average_in(task->checkpoint_ns, s_.now - task->state_since);
    move(*task, Trigger::kExited);
    return;
  }
  crash(*task, end_text(e.exit_code));
}

void Stepper::on(const TrainerYielded& e) {
  Task* task = addressed(e);
  // Its grant may be spent, or a pause on its way: then the lane is dealt with already.
  if (task == nullptr || task->state != TaskState::kRunning) return;
  task->heard_at = s_.now;
  task->retry_at = s_.now + std::clamp(e.for_ns, kMillisecond, kYieldMax);
  leave_lane(*task);
  move(*task, Trigger::kGrantSpent);
}

bool Stepper::is_waiting(const Task& task) const { return is_waiting_for_peers(task, s_.now); }

}  // namespace laird::core
