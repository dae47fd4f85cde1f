#include "agent/whatif/changes.hpp"

#include <algorithm>

namespace laird::whatif {
namespace {

__extension__ using Wide = __int128;

[[nodiscard]] bool has_task(const Recording& recording, const std::string& name) {
  return std::any_of(recording.tasks.begin(), recording.tasks.end(),
                     [&](const auto& task) { return task.first.name == name; });
}

[[nodiscard]] bool recurs(const Recording& recording, const std::string& name) {
  return recording.recurring.count(name) != 0;
}

// What may be changed: tasks that somebody asked for, and not the runs that the board began itself.
[[nodiscard]] Status check_known(const Recording& recording, const std::string& name) {
  for (const auto& [id, task] : recording.tasks) {
    if (id.name != name || task.spec.run_of.empty()) continue;
    return fail(Code::kInvalid, "'" + name + "' belongs to '" + task.spec.run_of +
                                    "', which recurs; name '" + task.spec.run_of +
                                    "', and it holds for all of its runs");
  }
  if (has_task(recording, name) || recurs(recording, name)) return {};
  std::string known;
  for (const auto& [recurring, spec] : recording.recurring) known += " " + recurring;
  for (const auto& [id, task] : recording.tasks) {
    if (known.size() > 200) {
      known += " ...";
      break;
    }
    if (id.nth == 0 && task.spec.run_of.empty()) known += " " + id.name;
  }
  return fail(Code::kNotFound, "no task '" + name + "' is in the journal of " + recording.node +
                                   "; there are:" + known);
}

[[nodiscard]] Status check_edit(const Recording& recording, const TaskEdit& edit) {
  LAIRD_TRY(check_known(recording, edit.task));
  const auto found = recording.recurring.find(edit.task);
  if (found != recording.recurring.end() && edit.deadline_add != 0 && !edit.deadline_after &&
      found->second.deadline_after == 0) {
    return fail(Code::kInvalid,
                "the runs of '" + edit.task + "' end with their window; give a duration, like 2h");
  }
  return {};
}

[[nodiscard]] Status check_added(const Recording& recording, const AddedTask& task) {
  LAIRD_TRY(check_known(recording, task.like));
  if (recurs(recording, task.like)) {
    return fail(Code::kInvalid, "'" + task.like + "' recurs; only a task that is done once can " +
                                    "come a second time under another name");
  }
  if (has_task(recording, task.name) || recurs(recording, task.name)) {
    return fail(Code::kExists,
                "a task '" + task.name + "' is in the journal already; choose a new name");
  }
  return {};
}

}  // namespace

bool Changes::none() const {
  return !policy && !slice && caps.empty() && budgets.empty() && lanes.empty() && !board &&
         edits.empty() && without.empty() && added.empty() && speed == 1.0;
}

Status Changes::fit(const Recording& recording) const {
  if (policy) LAIRD_TRY(policies::make_policy(*policy));
  for (const TaskEdit& edit : edits) LAIRD_TRY(check_edit(recording, edit));
  for (const std::string& name : without) LAIRD_TRY(check_known(recording, name));
  for (const AddedTask& task : added) LAIRD_TRY(check_added(recording, task));
  return {};
}

bool Changes::drops(const std::string& task) const {
  return std::find(without.begin(), without.end(), task) != without.end();
}

void Changes::edit(core::TaskSpec& spec) const {
  for (const TaskEdit& edit : edits) {
    if (edit.task != spec.name) continue;
    if (edit.deadline_after) {
      spec.deadline_after = *edit.deadline_after;
      spec.deadline_wall = 0;
    }
    if (spec.deadline_wall > 0) spec.deadline_wall += edit.deadline_add;
    if (spec.deadline_after > 0) spec.deadline_after += edit.deadline_add;
    if (edit.target_loss) spec.target_loss = *edit.target_loss;
    if (edit.weight_milli) spec.weight_milli = *edit.weight_milli;
  }
}

core::CoreConfig Changes::changed(const core::CoreConfig& config) const {
  core::CoreConfig out = config;
  // What the fleet left the board is in the recording.
  out.fleet = core::FleetConfig{};
  if (policy) out.policy = *policy;
  if (slice) out.slice = *slice;
  if (!lanes.empty()) out.lanes = lanes;
  if (board) {
    const std::optional<std::int64_t> cap_mw = out.power.cap_mw;
    out.power = board->power;
    out.power.cap_mw = cap_mw;
    out.meter = board->meter;
    if (board->memory_bytes > 0) out.memory_bytes = board->memory_bytes;
  }
  if (!caps.empty()) {
    out.power.cap_mw = caps.front().after == 0 ? caps.front().mw : std::nullopt;
  }
  return out;
}

FleetLimits Changes::changed(const FleetLimits& limits, DurationNs after_begin) const {
  const LimitFrom* now = nullptr;
  for (const LimitFrom& budget : budgets) {
    if (budget.after <= after_begin) now = &budget;
  }
  if (now == nullptr || !limits.cap_mw) return limits;
  FleetLimits out = limits;
  if (!now->mw) {
    out.cap_mw.reset();
    return out;
  }
  const std::int64_t divided = std::max<std::int64_t>(0, *now->mw - limits.floors_mw);
  const std::int64_t above = std::max<std::int64_t>(0, *limits.cap_mw - limits.floor_mw);
  const std::int64_t scaled =
      limits.divided_mw <= 0
          ? 0
          : static_cast<std::int64_t>(static_cast<Wide>(above) * divided / limits.divided_mw);
  out.cap_mw = std::clamp<std::int64_t>(limits.floor_mw + scaled, 1, core::kCapMwMax);
  return out;
}

}  // namespace laird::whatif
