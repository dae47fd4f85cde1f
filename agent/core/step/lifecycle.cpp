#include <algorithm>

#include "agent/core/step/gate.hpp"
#include "agent/core/step/stepper.hpp"
#include "agent/core/step/time_sheet.hpp"
#include "base/require.hpp"

namespace laird::core {

void Stepper::move(Task& task, Trigger trigger) {
  const TaskState to = next_state(task.state, trigger);
  if (to == TaskState::kEnded) {
    LAIRD_REQUIRE(task.outcome != Outcome::kNone, "a task ends with an outcome");
    task.ended_at = s_.now;
  }
  task.state = to;
  task.state_since = s_.now;
  out_.push_back({TaskChanged{task.key, task.state, task.outcome}});
}

void Stepper::decide(Task& task, Outcome outcome, std::string reason) {
  LAIRD_REQUIRE(task.outcome == Outcome::kNone, "an outcome is decided once");
  task.outcome = outcome;
  if (outcome != Outcome::kMoved) end_title(task);
  // What is told of a group's model is who made it, and without whom.
  if (task.reason.starts_with(kGroupNote)) reason += "; " + task.reason;
  task.reason = clipped(std::move(reason));
  if (!has_process(task.state)) {
    move(task, Trigger::kEnd);
    return;
  }
  leave_lane(task);
  const bool stop_sent = task.state == TaskState::kEvicting || task.state == TaskState::kPausing;
  move(task, Trigger::kDecide);
  if (stop_sent) return;
  if (is_to_be_promoted(task)) out_.push_back({ExportModel{task.process()}});
  out_.push_back({StopTrainer{task.process()}});
}

void Stepper::crash(Task& task, std::string why) {
  leave_lane(task);
  out_.push_back({KillTrainer{task.process()}});
  ++task.crashes;
  ++s_.counters.crashes;
  task.samples = task.checkpoint_samples;
  task.checkpoint_asked = false;
  task.reason = clipped(std::move(why));
  task.time_sheet.crash = task.reason;
  const TimeUse use = crash_use(task);
  task.time_sheet.count(use);
  task.time_sheet.lost(use);
  move(task, Trigger::kCrashed);
  const TrainerTiming& timing = s_.config.timing;
  if (task.crashes >= timing.attempts_max) {
    decide(task, Outcome::kFailed,
           "gave up after " + std::to_string(task.crashes) + " failures in a row: " + task.reason);
    return;
  }
  DurationNs wait = timing.backoff_min;
  for (std::uint32_t i = 1; i < task.crashes && wait < timing.backoff_max; ++i) wait *= 2;
  task.retry_at = s_.now + std::min(wait, timing.backoff_max);
}

void Stepper::leave_lane(Task& task) {
  if (task.lane < 0) return;
  Lane& lane = s_.lanes[static_cast<std::size_t>(task.lane)];
  std::erase(lane.running, task.key);
  task.busy_ns += s_.now - task.grant_at;
  task.lane = -1;
  task.share_ppm = 0;
  lanes_changed_ = true;
  if (lane.running.empty()) end_spell(lane.gate, s_.now);
}

void Stepper::sweep_ended() {
  std::vector<Task> promotions;
  for (Task& task : s_.live) {
    if (task.state != TaskState::kEnded) continue;
    if (s_.policy != nullptr) s_.policy->forget(task.key);
    if (const auto used = s_.meter.retire(task.key, task.outcome == Outcome::kSucceeded)) {
      if (s_.meter.totals().readings > 0) {
        task.energy_uj = used->dynamic.uj() + used->idle.uj();
      }
    }
    std::erase(s_.wanted, task.key);
    note_run(task);
    // A recurring task took its name while its trainer was leaving.
    if (s_.find_recurring(task.spec.name) != nullptr) task.removed = true;
    if (s_.ended.size() == kTasksEndedKept) s_.ended.erase(s_.ended.begin());
    s_.ended.push_back(task);
    if (is_to_be_promoted(task)) promotions.push_back(make_promotion(task));
  }
  std::erase_if(s_.live, [](const Task& t) { return t.state == TaskState::kEnded; });
  for (Task& task : promotions) {
    out_.push_back({TaskChanged{task.key, TaskState::kQueued, Outcome::kNone}});
    s_.live.push_back(std::move(task));
  }
}

Task* Stepper::addressed(const ProcessRef& process) {
  Task* task = s_.find_live(process.key);
  // Late words of an earlier process, or of a task that has ended, concern nobody any more.
  if (task == nullptr || task->attempt != process.attempt || !has_process(task->state)) {
    return nullptr;
  }
  return task;
}

}  // namespace laird::core
