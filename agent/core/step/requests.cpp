// What operators ask for. A request is answered exactly once, with the reason when it is refused.
#include <algorithm>
#include <cmath>

#include "agent/core/step/stepper.hpp"
#include "base/duration.hpp"

namespace laird::core {
namespace {

std::string megabytes(std::int64_t bytes) { return std::to_string(bytes / 1'000'000) + " MB"; }

}  // namespace

void Stepper::answer(std::uint64_t request, TaskKey key, std::string text) {
  out_.push_back({Answer{request, true, Code::kInvalid, key, clipped(std::move(text))}});
}

void Stepper::refuse(std::uint64_t request, Code code, std::string text) {
  out_.push_back({Answer{request, false, code, 0, clipped(std::move(text))}});
}

Task* Stepper::live_named(std::string_view task) {
  // The newest: one that was replaced may still be ending.
  for (auto t = s_.live.rbegin(); t != s_.live.rend(); ++t) {
    if (t->spec.name == task) return &*t;
  }
  return nullptr;
}

Status Stepper::check_admission(const TaskSpec& spec) const {
  const CoreConfig& config = s_.config;
  if (s_.shutting_down) {
    return fail(Code::kRefused, "the agent is shutting down; submit again when it is back");
  }
  if (s_.draining) {
    return fail(Code::kRefused, "the board is draining; submit elsewhere, or `lairctl undrain` it");
  }
  if (spec.name.empty()) return fail(Code::kInvalid, "the task has no name");
  if (!is_weight(spec.weight_milli)) {
    return fail(Code::kInvalid, "weight must be 0.1 to 100");
  }
  if (spec.report_every < 1 || spec.report_every > kReportEveryMax) {
    return fail(Code::kInvalid, "report_every must be 1 to " + std::to_string(kReportEveryMax));
  }
  if (!std::isfinite(spec.target_loss)) {
    return fail(Code::kInvalid, "the target loss must be a finite number");
  }
  if (spec.planned_samples > kSamplesMax) return fail(Code::kInvalid, "planned_samples too large");
  const TimeNs wall_latest = s_.now + s_.wall_minus_agent + kDeadlineMax;
  if ((spec.deadline_after > 0) == (spec.deadline_wall > 0) || spec.deadline_after > kDeadlineMax ||
      spec.deadline_wall > wall_latest) {
    return fail(Code::kInvalid, "give one deadline, within a year");
  }
  if (std::find(config.trainers.begin(), config.trainers.end(), spec.trainer) ==
      config.trainers.end()) {
    return fail(Code::kRefused, "trainer '" + spec.trainer +
                                    "' is not on this board's allow-list; add it under "
                                    "\"trainers\" in the agent's config");
  }
  const bool lane_exists = std::any_of(s_.lanes.begin(), s_.lanes.end(), [&](const Lane& lane) {
    return lane.config.kind == spec.lane;
  });
  if (!lane_exists) {
    return fail(Code::kRefused, "this board has no " + std::string(name(spec.lane)) + " lane");
  }
  if (spec.memory_bytes < 0 || spec.memory_bytes > config.memory_bytes) {
    return fail(Code::kRefused, "it needs " + megabytes(spec.memory_bytes) +
                                    " of memory, this board has " + megabytes(config.memory_bytes) +
                                    " for tasks");
  }
  if (deadline_of(spec, s_.now) <= s_.now) {
    return fail(Code::kRefused, "its deadline has passed already");
  }
  LAIRD_TRY(check_promotion(spec));
  if (s_.live.size() >= kTasksLiveMax) {
    return fail(Code::kFull, "the board holds " + std::to_string(kTasksLiveMax) +
                                 " unfinished tasks, the limit; wait or cancel one");
  }
  return {};
}

Status admits(const State& state, const TaskSpec& spec) {
  Effects none;
  // Only reads: the stepper wants a state it may change, and does not.
  const Stepper stepper(const_cast<State&>(state), none);
  return spec.every.window.wanted() ? stepper.check_recurring(spec) : stepper.check_admission(spec);
}

namespace {

// A chance that is worth a word to whoever submits.
constexpr double kDoubtful = 0.05;

// What earlier tasks on this board say against a new one, for its submitter; empty when nothing
// does. It is accepted all the same: they were other tasks.
[[nodiscard]] std::string doubts_of(const State& state, const Task& task) {
  DurationNs start = 0;  // the shortest of its trainer's
  const auto look_at = [&](const Task& other) {
    if (other.spec.trainer != task.spec.trainer || other.restore_ns <= 0) return;
    start = start == 0 ? other.restore_ns : std::min(start, other.restore_ns);
  };
  for (const Task& other : state.live) look_at(other);
  for (const Task& other : state.ended) look_at(other);
  const DurationNs left = task.deadline_at - state.now;
  if (start > left) {
    return "; but its deadline is in " + spoken(left) + ", and trainer '" + task.spec.trainer +
           "' took at least " + spoken(start) + " to start here";
  }
  const Task* earlier = state.find_any(task.recalled);
  if (earlier == nullptr || earlier->rate <= 0.0 || task.spec.target_loss <= 0.0) return "";
  const double samples = earlier->rate * seconds(left);
  const double chance = task.forecast.probability_below(task.spec.target_loss, samples,
                                                        static_cast<double>(task.planned_samples));
  if (chance >= kDoubtful) return "";
  return "; but by the earlier run '" + earlier->spec.name +
         "' it reaches its target in time with less than 5%";
}

}  // namespace

TaskKey Stepper::add_task(TaskSpec spec, bool fresh) {
  Task task;
  task.key = s_.next_key++;
  task.spec = std::move(spec);
  task.fresh = fresh;
  task.accepted_at = s_.now;
  task.state_since = s_.now;
  task.planned_samples = task.spec.planned_samples;
  task.deadline_at = deadline_of(task.spec, s_.now);
  recall_earlier_run(task);
  const TaskKey key = task.key;
  s_.live.push_back(std::move(task));
  out_.push_back({TaskChanged{key, TaskState::kQueued, Outcome::kNone}});
  return key;
}

void Stepper::on(const Submitted& e) {
  if (answer_known_recurring(e)) return;
  // The same submission again (a retry, or a config read at every start) is answered as the first
  // one was, and starts nothing.
  const Task* known = s_.find_named(e.spec.name);
  const bool same = known != nullptr && is_same_submission(*known, e.spec);
  // A task that replaces itself is one that is to be tried again, once it is over.
  const bool again = e.replace && known != nullptr && known->state == TaskState::kEnded;
  if (known != nullptr && (same ? !again : !e.replace)) {
    if (!same) {
      refuse(e.request, Code::kExists,
             "another task has the name '" + e.spec.name +
                 "'; choose a new name, or take it over (`lairctl submit --replace`)");
      return;
    }
    const std::string how(known->state == TaskState::kEnded ? name(known->outcome)
                                                            : name(known->state));
    answer(e.request, known->key, "known already: " + how);
    return;
  }
  const bool recurs = e.spec.every.window.wanted();
  const Status ok = recurs ? check_recurring(e.spec) : check_admission(e.spec);
  if (!ok) {
    refuse(e.request, ok.error().code, ok.error().context);
    return;
  }
  const Task* before = live_named(e.spec.name);
  if (before != nullptr && before->outcome == Outcome::kNone && !is_ours(*before)) {
    refuse(e.request, Code::kUnavailable,
           "'" + e.spec.name + "' may be on another board by now; ask again when this one knows");
    return;
  }
  give_way(e.spec);
  if (recurs) return accept_recurring(e);
  const bool fresh = s_.had_name(e.spec.name);
  const TaskKey key = add_task(e.spec, fresh);
  answer(e.request, key, "accepted" + doubts_of(s_, *s_.find_live(key)));
}

void Stepper::on(const CancelRequested& e) {
  if (Recurring* r = s_.find_recurring(e.task)) return cancel_recurring(*r, e.request);
  Task* task = live_named(e.task);
  if (task == nullptr || task->outcome != Outcome::kNone) {
    const Task* known = s_.find_named(e.task);
    if (Task* promotion = promotion_of(e.task)) {
      decide(*promotion, Outcome::kCancelled, "cancelled with the task whose model it promotes");
      answer(e.request, promotion->key, "its promotion is cancelled; the task itself succeeded");
      return;
    }
    if (known == nullptr) {
      refuse(e.request, Code::kNotFound, "no task '" + e.task + "'");
    } else if (known->outcome == Outcome::kCancelled) {
      answer(e.request, known->key, "cancelled already");
    } else {
      refuse(e.request, Code::kRefused,
             "it has ended already: " + std::string(name(known->outcome)));
    }
    return;
  }
  if (!is_ours(*task)) {
    const consensus::HeldTitle* title = title_of(*task);
    if (title == nullptr || !desk().titles().give_up(task->moving.title)) {
      refuse(e.request, Code::kUnavailable,
             "it may be on another board by now; ask again when this one knows");
      return;
    }
  }
  decide(*task, Outcome::kCancelled,
         by_.empty() ? "cancelled by an operator" : "cancelled by " + std::string(by_));
  answer(e.request, task->key, "cancelled");
}

// The task of a request that only makes sense before its outcome; refuses the request otherwise.
Task* Stepper::undecided(std::uint64_t request, const std::string& name) {
  Task* task = live_named(name);
  if (task != nullptr && task->outcome == Outcome::kNone) return task;
  const bool known = s_.find_named(name) != nullptr;
  refuse(request, known ? Code::kRefused : Code::kNotFound,
         known ? "it has ended already" : "no task '" + name + "'");
  return nullptr;
}

void Stepper::on(const PauseRequested& e) {
  if (Recurring* r = s_.find_recurring(e.task)) return pause_recurring(*r, e.request);
  Task* task = undecided(e.request, e.task);
  if (task == nullptr) return;
  if (task->state == TaskState::kPaused || task->state == TaskState::kPausing) {
    answer(e.request, task->key, "paused already");
    return;
  }
  const bool process = has_process(task->state);
  const bool stop_sent = task->state == TaskState::kEvicting;
  leave_lane(*task);
  std::erase(s_.wanted, task->key);
  task->reason = clipped(by_.empty() ? "paused by an operator" : "paused by " + std::string(by_));
  task->time_sheet.paused_by = by_.substr(0, kPausedByBytesMax);
  task->time_sheet.count(TimeUse::kPaused);
  move(*task, Trigger::kPause);
  if (process && !stop_sent) out_.push_back({StopTrainer{task->process()}});
  answer(e.request, task->key, "paused");
}

void Stepper::on(const ResumeRequested& e) {
  if (Recurring* r = s_.find_recurring(e.task)) return resume_recurring(*r, e.request);
  Task* task = undecided(e.request, e.task);
  if (task == nullptr) return;
  if (!is_listed(task->state, Trigger::kResume)) {
    answer(e.request, task->key, "not paused");
    return;
  }
  task->reason.clear();
  move(*task, Trigger::kResume);
  answer(e.request, task->key, "resumed");
}

}  // namespace laird::core
