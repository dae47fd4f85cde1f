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

[[nodiscard]] bool knows(const Recording& recording, const std::string& name) {
  return has_task(recording, name) || recurs(recording, name);
}

using Boards = std::span<const Recording* const>;

// "n-1", or "these 8 boards"
[[nodiscard]] std::string text_of(Boards boards) {
  return boards.size() == 1 ? boards.front()->node
                            : "these " + std::to_string(boards.size()) + " boards";
}

[[nodiscard]] std::string known_tasks(Boards boards) {
  std::string known;
  for (const Recording* board : boards) {
    for (const auto& [recurring, spec] : board->recurring) known += " " + recurring;
    for (const auto& [id, task] : board->tasks) {
      if (known.size() > 200) return known + " ...";
      if (id.nth == 0 && task.spec.run_of.empty()) known += " " + id.name;
    }
  }
  return known;
}

// What may be changed: tasks that somebody asked for, and not the runs that the board began itself.
[[nodiscard]] Status check_known(Boards boards, const std::string& name) {
  bool known = false;
  for (const Recording* board : boards) {
    for (const auto& [id, task] : board->tasks) {
      if (id.name != name || task.spec.run_of.empty()) continue;
      return fail(Code::kInvalid, "'" + name + "' belongs to '" + task.spec.run_of +
                                      "', which recurs; name '" + task.spec.run_of +
                                      "', and it holds for all of its runs");
    }
    known = known || knows(*board, name);
  }
  if (known) return {};
  return fail(Code::kNotFound, "no task '" + name + "' is in the journal of " + text_of(boards) +
                                   "; there are:" + known_tasks(boards));
}

[[nodiscard]] bool recurs_on_any(Boards boards, const std::string& name) {
  return std::any_of(boards.begin(), boards.end(),
                     [&](const Recording* board) { return recurs(*board, name); });
}

[[nodiscard]] Status check_edit(Boards boards, const TaskEdit& edit) {
  LAIRD_TRY(check_known(boards, edit.task));
  for (const Recording* board : boards) {
    const auto found = board->recurring.find(edit.task);
    if (found != board->recurring.end() && edit.deadline_add != 0 && !edit.deadline_after &&
        found->second.deadline_after == 0) {
      return fail(Code::kInvalid, "the runs of '" + edit.task +
                                      "' end with their window; give a duration, like 2h");
    }
  }
  return {};
}

[[nodiscard]] Status check_added(Boards boards, const AddedTask& task) {
  LAIRD_TRY(check_known(boards, task.like));
  if (recurs_on_any(boards, task.like)) {
    return fail(Code::kInvalid, "'" + task.like + "' recurs; only a task that is done once can " +
                                    "come a second time under another name");
  }
  if (std::any_of(boards.begin(), boards.end(),
                  [&](const Recording* board) { return knows(*board, task.name); })) {
    return fail(Code::kExists,
                "a task '" + task.name + "' is in the journal already; choose a new name");
  }
  return {};
}

}  // namespace

bool Changes::none() const {
  return !policy && !slice && caps.empty() && budgets.empty() && lanes.empty() && !board &&
         edits.empty() && without.empty() && added.empty() && speed == 1.0 &&
         of_a_fleet() == nullptr;
}

const char* Changes::of_a_fleet() const {
  if (as_fleet) return "fleet";
  if (!boards_without.empty()) return "without-board";
  if (!boards_added.empty()) return "with-board";
  if (!moved.empty()) return "move";
  const auto placed =
      std::find_if(added.begin(), added.end(), [](const AddedTask& t) { return !t.board.empty(); });
  return placed == added.end() ? nullptr : "with=NEW:TASK@BOARD";
}

Status Changes::fit(std::span<const Recording* const> boards) const {
  if (policy) LAIRD_TRY(policies::make_policy(*policy));
  for (const TaskEdit& edit : edits) LAIRD_TRY(check_edit(boards, edit));
  for (const std::string& name : without) LAIRD_TRY(check_known(boards, name));
  for (const AddedTask& task : added) LAIRD_TRY(check_added(boards, task));
  for (const MovedTask& task : moved) LAIRD_TRY(check_known(boards, task.task));
  return {};
}

Changes Changes::of_board(const Recording& recording) const {
  Changes out = *this;
  std::erase_if(out.edits, [&](const TaskEdit& edit) { return !knows(recording, edit.task); });
  std::erase_if(out.without, [&](const std::string& name) { return !knows(recording, name); });
  std::erase_if(out.added, [&](const AddedTask& task) { return !knows(recording, task.like); });
  return out;
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
  spec.movable = false;  // titles do not run again
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
