#include "agent/whatif/changes.hpp"

#include <algorithm>

namespace laird::whatif {
namespace {

__extension__ using Wide = __int128;

[[nodiscard]] bool has_task(const Recording& recording, const std::string& name) {
  return std::any_of(recording.tasks.begin(), recording.tasks.end(),
                     [&](const auto& task) { return task.first.name == name; });
}

[[nodiscard]] Status unknown(const Recording& recording, const std::string& name) {
  std::string known;
  for (const auto& [id, task] : recording.tasks) {
    if (known.size() > 200) {
      known += " ...";
      break;
    }
    if (id.nth == 0) known += " " + id.name;
  }
  return fail(Code::kNotFound, "no task '" + name + "' is in the journal of " + recording.node +
                                   "; there are:" + known);
}

}  // namespace

bool Changes::none() const {
  return !policy && !slice && caps.empty() && budgets.empty() && lanes.empty() && !board &&
         edits.empty() && without.empty() && added.empty() && speed == 1.0;
}

Status Changes::fit(const Recording& recording) const {
  if (policy) LAIRD_TRY(policies::make_policy(*policy));
  for (const TaskEdit& edit : edits) {
    if (!has_task(recording, edit.task)) return unknown(recording, edit.task);
  }
  for (const std::string& name : without) {
    if (!has_task(recording, name)) return unknown(recording, name);
  }
  for (const AddedTask& task : added) {
    if (!has_task(recording, task.like)) return unknown(recording, task.like);
    if (has_task(recording, task.name)) {
      return fail(Code::kExists,
                  "a task '" + task.name + "' is in the journal already; choose a new name");
    }
  }
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
    (spec.deadline_wall > 0 ? spec.deadline_wall : spec.deadline_after) += edit.deadline_add;
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
