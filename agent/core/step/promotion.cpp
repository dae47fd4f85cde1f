// From a task that reached its target to the task that promotes its model, and its end.
#include <algorithm>

#include "agent/core/step/stepper.hpp"

namespace laird::core {

Status Stepper::check_promotion(const TaskSpec& spec) const {
  if (spec.trainer == kPromoter || !spec.promotes.empty()) {
    return fail(Code::kRefused, "'" + std::string(kPromoter) +
                                    "' promotes what another task trained; give that task a "
                                    "\"promote\" section instead");
  }
  const bool about_to_be = std::any_of(s_.live.begin(), s_.live.end(), [&](const Task& task) {
    return task.spec.name == spec.name && is_to_be_promoted(task);
  });
  if (about_to_be || is_being_promoted(spec.name)) {
    return fail(Code::kExists, "the model of an earlier task '" + spec.name +
                                   "' is still being promoted; wait for it, or cancel '" +
                                   promotion_name(spec.name) + "'");
  }
  const auto taken = std::find_if(s_.live.begin(), s_.live.end(), [&](const Task& task) {
    return task.spec.promote.wanted && promotion_name(task.spec.name) == spec.name;
  });
  if (taken != s_.live.end()) {
    return fail(Code::kExists, "'" + spec.name + "' will be the promotion of '" + taken->spec.name +
                                   "'; choose another name");
  }
  if (!spec.promote.wanted) return {};
  if (!spec.promote.fits_limits()) {
    return fail(Code::kInvalid, "promote: give a deadline within a year");
  }
  if (spec.name.size() > kPromotedNameBytesMax) {
    return fail(Code::kInvalid, "a task whose model is promoted has a name of at most " +
                                    std::to_string(kPromotedNameBytesMax) + " bytes; shorten it");
  }
  if (spec.promote.memory_bytes > s_.config.memory_bytes) {
    return fail(Code::kRefused,
                "promote: it would need more memory than this board has for "
                "tasks; lower \"memory\" under \"promote\"");
  }
  const std::string child = promotion_name(spec.name);
  const bool name_used = std::any_of(s_.live.begin(), s_.live.end(),
                                     [&](const Task& task) { return task.spec.name == child; });
  if (name_used) {
    return fail(Code::kExists, "its promotion would be called '" + child +
                                   "', and another task has that name; choose another name");
  }
  return {};
}

bool Stepper::is_being_promoted(std::string_view task) const {
  return std::any_of(s_.live.begin(), s_.live.end(),
                     [&](const Task& t) { return t.spec.promotes == task && !task.empty(); });
}

Task* Stepper::promotion_of(std::string_view task) {
  for (Task& t : s_.live) {
    if (t.spec.promotes == task && t.outcome == Outcome::kNone) return &t;
  }
  return nullptr;
}

// Once for each success: the parent leaves the live tasks in the same step.
Task Stepper::make_promotion(const Task& parent) {
  const bool has_gpu = std::any_of(s_.lanes.begin(), s_.lanes.end(), [](const Lane& lane) {
    return lane.config.kind == LaneKind::kGpu;
  });
  Task task;
  task.key = s_.next_key++;
  task.spec.name = promotion_name(parent.spec.name);
  task.spec.trainer = kPromoter;
  task.spec.promotes = parent.spec.name;
  task.spec.run_of = parent.spec.run_of;
  // How far the model had come tells the promoter whether the files it finds are of that model.
  task.spec.params = "{\"samples\":" + std::to_string(parent.samples) +
                     ",\"limits\":" + parent.spec.promote.limits + "}";
  task.spec.lane = has_gpu ? LaneKind::kGpu : LaneKind::kCpu;
  task.spec.deadline_after = parent.spec.promote.deadline_after;
  task.spec.target_loss = kPromotionTargetLoss;
  task.spec.memory_bytes = parent.spec.promote.memory_bytes;
  task.spec.report_every = kPromotionReportEvery;
  task.spec.seed = parent.spec.seed;
  task.spec.weight_milli = parent.spec.weight_milli;
  task.accepted_at = s_.now;
  task.state_since = s_.now;
  task.deadline_at = deadline_of(task.spec, s_.now);
  return task;
}

void Stepper::on(const TrainerPromoted& e) {
  Task* task = addressed(e);
  if (task == nullptr || task->outcome != Outcome::kNone) return;
  if (task->spec.promotes.empty() || task->state == TaskState::kStarting || !e.promotion.known() ||
      !e.promotion.fits_limits()) {
    ++s_.counters.breaches;
    if (!is_listed(task->state, Trigger::kCrashed)) return;  // told to go already
    crash(*task, "its trainer spoke of a promotion out of turn");
    return;
  }
  task->promotion = e.promotion;
  decide(*task, Outcome::kSucceeded, describe(e.promotion));
}

}  // namespace laird::core
