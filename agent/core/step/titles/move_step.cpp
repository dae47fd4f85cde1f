// An operator's wish that a task should move: its trainer writes a checkpoint and leaves, the
// checkpoint is read, and the title goes to the other board. Until the title is given the move can
// be called off, and then the task goes on here.
#include <algorithm>
#include <utility>

#include "agent/core/step/stepper.hpp"

namespace laird::core {

using consensus::HeldTitle;
using consensus::TitleState;

void Stepper::on(const MoveRequested& e) {
  Task* task = undecided(e.request, e.task);
  if (task == nullptr) return;
  const auto no = [&](Code code, const std::string& why) { refuse(e.request, code, why); };
  if (e.to == s_.config.node) return answer(e.request, task->key, "it is here already");
  if (s_.fleet.budget.member(e.to) == nullptr) {
    return no(Code::kNotFound, "no board '" + e.to + "' in this fleet");
  }
  if (!task->spec.movable) {
    return no(Code::kRefused,
              "it was submitted to this board and stays here; submit it with \"movable\": true, or "
              "with --any, to let the fleet move it");
  }
  if (task->moving.stage != MoveStage::kNone) {
    if (task->moving.to == e.to) return answer(e.request, task->key, "on its way to " + e.to);
    return no(Code::kRefused, "it is on its way to " + task->moving.to);
  }
  if (task->state == TaskState::kPaused || task->state == TaskState::kPausing) {
    return no(Code::kRefused, "it is paused; resume it first");
  }
  const HeldTitle* title = title_of(*task);
  if (title == nullptr) {
    return no(Code::kUnavailable,
              "the fleet does not know of it yet; try again once the board is part of its fleet");
  }
  if (title->state != TitleState::kHeld) {
    return no(Code::kUnavailable, "its title is " + std::string(name(title->state)));
  }
  if (sight(0).fenced) return no(Code::kUnavailable, "the board is cut off from its fleet");
  task->moving.to = e.to;
  task->moving.note.clear();
  task->moving.stage = MoveStage::kStopping;
  task->moving.until = s_.now + kMoveTicksMax * s_.config.fleet.tick +
                       s_.config.timing.preempt_timeout + s_.config.timing.stop_grace;
  std::erase(s_.wanted, task->key);
  if (is_listed(task->state, Trigger::kEvict)) {
    leave_lane(*task);
    move(*task, Trigger::kEvict);
    out_.push_back({StopTrainer{task->process()}});
  }
  answer(e.request, task->key, "on its way to " + e.to);
}

void Stepper::copy_checkpoint(Task& task) {
  task.moving.copied_at = s_.now;
  out_.push_back({CopyCheckpoint{task.process()}});
}

void Stepper::on(const CheckpointRead& e) {
  Task* task = s_.find_live(e.key);
  if (task == nullptr || task->attempt != e.attempt || task->outcome != Outcome::kNone) return;
  if (title_of(*task) == nullptr) return;
  TitleBody body = body_of(*task);
  body.files = e.files;
  body.samples = e.files.empty() ? 0 : task->checkpoint_samples;
  body.too_large = e.too_large;
  renew_title(*task, std::move(body));
  if (task->moving.stage == MoveStage::kReading) task->moving.stage = MoveStage::kWaiting;
}

void Stepper::call_off(Task& task, const std::string& why) {
  tell_move("'" + task.spec.name + "' stays here: " + why);
  task.moving.note = clipped("not moved: " + why);
  task.moving.stage = MoveStage::kNone;
  task.moving.to.clear();
}

void Stepper::advance_moves() {
  for (Task& task : s_.live) {
    if (task.moving.stage != MoveStage::kNone && task.outcome == Outcome::kNone) advance_move(task);
  }
}

void Stepper::advance_move(Task& task) {
  Moving& moving = task.moving;
  if (moving.stage == MoveStage::kGiving) return;  // match_titles hears how it ends
  if (task.state == TaskState::kPaused || task.state == TaskState::kPausing) {
    return call_off(task, "it was paused");
  }
  if (s_.now >= moving.until) return call_off(task, "no word from " + moving.to + " or its backup");
  if (!is_ours(task)) return;
  if (moving.stage == MoveStage::kStopping) {
    if (has_process(task.state)) return;
    const bool has_checkpoint = task.attempt > 0 || task.checkpoint_samples > 0;
    if (has_checkpoint && task.attempt > 0) {
      moving.stage = MoveStage::kReading;
      copy_checkpoint(task);
      return;
    }
    moving.stage = MoveStage::kWaiting;
  }
  // The agent may have been ended before it had read the checkpoint.
  if (moving.stage == MoveStage::kReading) {
    if (s_.booted_at > moving.copied_at) copy_checkpoint(task);
    return;
  }
  const consensus::Sight now = sight(0);
  const consensus::Account to =
      std::as_const(s_.fleet.titles)->census().living(node_number(moving.to));
  if (!to.valid() || now.fenced) return;
  const HeldTitle* title = title_of(task);
  if (!title->backed) return;
  if (desk().titles().give(desk().view(now), moving.title, to)) moving.stage = MoveStage::kGiving;
}

}  // namespace laird::core
