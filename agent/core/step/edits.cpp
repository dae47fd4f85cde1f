// Tasks that take another's name, are changed after their acceptance, or are put away.
#include <algorithm>

#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

std::string after_name(std::string_view by) { return by.empty() ? "an operator" : std::string(by); }

}  // namespace

std::uint64_t Stepper::digest_of_spec(TaskSpec spec) {
  // A digest stays in the state: what was submitted to an agent of format 5 is known by what that
  // agent hashed, so a spec that asks for nothing newer is hashed as it did.
  constexpr std::int64_t kFirstFormat = 5;
  const bool recurs = spec.every.wanted() || !spec.run_of.empty();
  Archive ar = Archive::hasher(spec.movable ? 7 : recurs ? 6 : kFirstFormat);
  ar(spec);
  return ar.digest();
}

// Whether the submission asks for what the known task was accepted with.
bool Stepper::is_same_submission(const Task& known, const TaskSpec& spec) {
  if (known.submitted_digest == 0) return known.spec.same_as(spec);
  return known.submitted_digest == digest_of_spec(spec);
}

// Makes room for a new task of this name: one that is not over is cancelled, and its trainer ends
// before the new one's begins (`folder_is_free`).
void Stepper::give_way(const TaskSpec& spec) {
  drop_recurring(spec.name, "replaced by " + after_name(by_));
  for (Task& task : s_.live) {
    if (task.spec.name != spec.name || task.outcome != Outcome::kNone) continue;
    decide(task, Outcome::kCancelled, "replaced by " + after_name(by_));
  }
}

bool Stepper::folder_is_free(const Task& task) const {
  const std::string& wanted = task.spec.folder();
  return std::none_of(s_.live.begin(), s_.live.end(), [&](const Task& other) {
    return other.key != task.key && has_process(other.state) && other.spec.folder() == wanted;
  });
}

void Stepper::on(const EditRequested& e) {
  if (Recurring* r = s_.find_recurring(e.task)) return edit_recurring(*r, e);
  if (e.window.wanted()) {
    return refuse(e.request, Code::kInvalid,
                  "'" + e.task + "' is no recurring task; submit it with \"every\"");
  }
  Task* task = undecided(e.request, e.task);
  if (task == nullptr) return;
  TaskSpec edited = task->spec;
  if (e.deadline_add != 0) {
    if (edited.deadline_wall > 0) edited.deadline_wall += e.deadline_add;
    if (edited.deadline_after > 0) edited.deadline_after += e.deadline_add;
  } else if (e.deadline_after > 0) {
    edited.deadline_wall = 0;
    edited.deadline_after = s_.now - task->accepted_at + e.deadline_after;
  } else if (e.deadline_wall > 0) {
    edited.deadline_wall = e.deadline_wall;
    edited.deadline_after = 0;
  }
  if (e.weight_milli != 0) edited.weight_milli = e.weight_milli;
  const TimeNs deadline = deadline_of(edited, task->accepted_at);
  if (!is_weight(edited.weight_milli)) {
    return refuse(e.request, Code::kInvalid, "weight must be 0.1 to 100");
  }
  if (deadline <= s_.now || deadline > s_.now + kDeadlineMax ||
      edited.deadline_after > kDeadlineMax || edited.deadline_after < 0) {
    return refuse(e.request, Code::kInvalid,
                  "the new deadline has passed already, or is more than a year away");
  }
  if (task->submitted_digest == 0) task->submitted_digest = digest_of_spec(task->spec);
  task->spec = std::move(edited);
  task->deadline_at = deadline;
  if (title_of(*task) != nullptr) renew_title(*task, body_of(*task));
  answer(e.request, task->key, "edited");
}

void Stepper::on(const RemoveRequested& e) {
  if (const Recurring* r = s_.find_recurring(e.task)) return remove_recurring(*r, e.request);
  const Task* live = live_named(e.task);
  if (live != nullptr || is_being_promoted(e.task)) {
    refuse(e.request, Code::kRefused, "it is not over yet; `lairctl cancel` ends it");
    return;
  }
  TaskKey key = 0;
  for (Part<Task>& task : s_.ended) {
    if (task->spec.name != e.task || task->removed) continue;
    key = task->key;
    task.change().removed = true;
  }
  if (key == 0) return refuse(e.request, Code::kNotFound, "no task '" + e.task + "'");
  answer(e.request, key, "removed; the name is free");
}

}  // namespace laird::core
