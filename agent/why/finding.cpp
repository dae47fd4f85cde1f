// From a task and its time sheet to the cause (why.hpp has the rules).
#include <algorithm>
#include <optional>

#include "agent/core/step/time_sheet.hpp"
#include "agent/why/savers.hpp"
#include "agent/why/why.hpp"
#include "base/duration.hpp"

namespace laird::why {
namespace {

using core::Outcome;
using core::Task;
using core::TimeUse;
using placement::NeedBasis;

std::string name_of(const core::State& state, const Task& task, const core::UseKey& key) {
  if (key.use == TimeUse::kPaused) return task.time_sheet.paused_by;
  if (key.rival == 0) return {};
  const Task* other = state.find_any(key.rival);
  return other != nullptr ? other->spec.name
                          : "task " + std::to_string(key.rival) + " (forgotten since)";
}

// Causes that are a loss of time, by the use that the time went to.
std::optional<Cause> cause_of(TimeUse use) {
  switch (use) {
    case TimeUse::kThrottled: return Cause::kPower;
    case TimeUse::kRival: return Cause::kRival;
    case TimeUse::kMemory: return Cause::kMemory;
    case TimeUse::kCrashed: return Cause::kCrashes;
    case TimeUse::kOutOfMemory: return Cause::kOutOfMemory;
    case TimeUse::kPaused: return Cause::kPaused;
    case TimeUse::kAgentDown: return Cause::kAgentDown;
    case TimeUse::kPassedOver: return Cause::kPolicy;
    case TimeUse::kStarting:
    case TimeUse::kQueued: return Cause::kSlowStart;
    case TimeUse::kPeers: return Cause::kPeers;
    case TimeUse::kRunning:
    case TimeUse::kCheckpoint:
    case TimeUse::kFinishing: return std::nullopt;
  }
  return std::nullopt;
}

std::string memory_text(std::int64_t bytes) {
  return std::to_string((bytes + 999'999) / 1'000'000) + " MB";
}

// The losses, the largest first; the rivals and the caps count one by one.
std::vector<const Use*> losses_of(const Finding& f) {
  std::vector<const Use*> out;
  for (const Use& use : f.uses) {
    if (cause_of(use.line.key.use)) out.push_back(&use);
  }
  return out;
}

// What the loss was, as the end of "missed, because ...".
std::string loss_text(const Use& use, const Task& task, DurationNs whole) {
  const std::string spent = spoken(use.line.ns) + " of " + spoken(whole);
  const core::TimeSheetLine& line = use.line;
  const std::string rival = use.rival.empty() ? "other tasks" : "'" + use.rival + "'";
  switch (line.key.use) {
    case TimeUse::kThrottled:
      return words_of(line.key.by, line.limit_low, line.limit_high) + " held it back for " + spent;
    case TimeUse::kRival: return rival + " had its lane for " + spent;
    case TimeUse::kMemory:
      return "its trainer, which asks for " + memory_text(task.spec.memory_bytes) +
             ", did not fit into memory beside " + rival + " for " + spent;
    case TimeUse::kCrashed:
    case TimeUse::kOutOfMemory:
      return std::string(line.key.use == TimeUse::kCrashed ? "its trainer crashed"
                                                           : "its trainer ran out of memory") +
             (line.times == 1 ? " once" : " " + std::to_string(line.times) + " times") +
             ", which cost " + spent + ": " + task.time_sheet.crash;
    case TimeUse::kPaused:
      return (use.rival.empty() ? "an operator" : use.rival) + " had paused it for " + spent;
    case TimeUse::kAgentDown: return "the agent was not running for " + spent;
    case TimeUse::kPassedOver: return "the policy left its lane idle for " + spent;
    case TimeUse::kPeers: return "it waited for other boards for " + spent;
    case TimeUse::kStarting:
    case TimeUse::kQueued: return "its trainer took " + spent + " to get ready";
    case TimeUse::kRunning:
    case TimeUse::kCheckpoint:
    case TimeUse::kFinishing: break;
  }
  return "its time went elsewhere";
}

void blame(Finding& f, const Task& task, const Use& use, const Use* next) {
  f.cause = *cause_of(use.line.key.use);
  f.headline = f.state + ", because " + loss_text(use, task, f.whole);
  if (next != nullptr) f.headline += "; and " + loss_text(*next, task, f.whole);
}

// Where all of its time would not have done: the target is unlikely to be reached at all.
// Otherwise: less likely than not, and below the forecast's 90% band even with many times the
// samples.
bool is_out_of_reach(const Finding& f, const Task& task, double needed, double had) {
  if (needed > kFarBeyond * had) return true;
  if (needed > had && f.need.reach < kUnlikely) return true;
  constexpr double kLikely = 0.5;
  if (f.need.reach >= kLikely) return false;
  const double end = static_cast<double>(task.samples) + task.rate * kFarBeyond * had;
  const auto band = task.forecast.loss_at(end, static_cast<double>(task.planned_samples));
  return band && band->low > task.spec.target_loss;
}

void find_missed(Finding& f, const Task& task) {
  const std::vector<const Use*> losses = losses_of(f);
  const DurationNs ran = task.time_sheet.of(TimeUse::kRunning);
  if (f.need.basis != NeedBasis::kForecast) {
    if (!losses.empty() && losses.front()->line.ns > ran) {
      blame(f, task, *losses.front(), nullptr);
      return;
    }
    f.cause = Cause::kNoReports;
    f.headline = f.state + ": it ran for " + spoken(ran) + " and reported its loss " +
                 (task.loss_known ? "only once" : "not once") +
                 ", too little to judge it by (it reports every " +
                 std::to_string(task.spec.report_every) + " samples)";
    return;
  }
  const double needed = seconds(ran) + f.need.seconds.median;
  const double had = seconds(f.until_due);
  if (is_out_of_reach(f, task, needed, had)) {
    f.cause = Cause::kOutOfReach;
    f.headline = f.state + ": its target was out of reach: after " + spoken(ran) +
                 " of work its loss was " + loss_number(task.best_loss) + ", its target " +
                 loss_number(task.spec.target_loss) + ", and it still needed about " +
                 spoken_seconds(f.need.seconds.median) + " of its whole lane";
    return;
  }
  if (needed > had) {
    f.cause = Cause::kLate;
    f.headline = f.state + ": it was submitted too late: it needs about " + spoken_seconds(needed) +
                 " of its whole lane, and its deadline was " + spoken(f.until_due) + " away";
    return;
  }
  const double start = seconds(task.time_sheet.of(TimeUse::kStarting));
  if (needed + start > had) {
    f.cause = Cause::kSlowStart;
    f.headline = f.state + ": it began too late: its trainer took " + spoken_seconds(start) +
                 " to get ready, and it needs about " + spoken_seconds(needed) +
                 " of its whole lane of the " + spoken(f.until_due) + " to its deadline";
    return;
  }
  const auto enough = std::find_if(losses.begin(), losses.end(), [&f](const Use* use) {
    return seconds(use->line.ns) >= f.need.seconds.median;
  });
  if (enough != losses.end()) {
    // The largest one is at least as large.
    blame(f, task, *losses.front(), nullptr);
  } else if (!losses.empty()) {
    blame(f, task, *losses.front(), losses.size() > 1 ? losses[1] : nullptr);
  } else {
    f.cause = Cause::kLate;
    f.headline = f.state + ": it ran all the time, and that was too short";
  }
}

void find_failed(Finding& f, const Task& task) {
  const bool memory = core::is_out_of_memory(task.time_sheet.crash);
  f.cause = memory ? Cause::kOutOfMemory : Cause::kCrashes;
  f.headline = f.state + ": its trainer " + (memory ? "ran out of memory " : "crashed ") +
               std::to_string(task.crashes) + " times in a row" +
               (memory ? " (it asked for " + memory_text(task.spec.memory_bytes) + ")" : "") +
               ": " + task.time_sheet.crash;
}

void find_exhausted(Finding& f, const Task& task) {
  f.cause = Cause::kOutOfReach;
  f.headline = f.state + ": its target was out of reach: it did all " +
               std::to_string(task.samples) + " samples that were planned; ";
  f.headline += task.loss_known ? "its best loss was " + loss_number(task.best_loss) +
                                      ", its target " + loss_number(task.spec.target_loss)
                                : "it reported no loss";
}

// What stands in the way of a task that is not over, now.
void find_live(Finding& f, const core::State& state, const Task& task) {
  f.headline = f.state;
  if (const auto held = core::throttled_now(state, task)) {
    f.cause = Cause::kPower;
    f.headline = "throttled by " + words_of(held->by, held->limit, held->limit);
  } else if (task.state != core::TaskState::kRunning) {
    // Where the time goes at this moment is where a further moment would be added.
    const core::TimeSheet next = core::time_sheet_at(state, task, state.now + kSecond);
    DurationNs most = 0;
    for (const core::TimeSheetLine& line : next.lines()) {
      DurationNs before = 0;
      for (const core::TimeSheetLine& known : task.time_sheet.lines()) {
        if (known.key == line.key) before = known.ns;
      }
      if (line.ns - before <= most) continue;
      most = line.ns - before;
      f.cause = cause_of(line.key.use).value_or(Cause::kNone);
      const Use use{line, name_of(state, task, line.key)};
      f.headline = f.state + ": " + words_of(use);
    }
    if (!task.reason.empty() && !task.spec.cotrain) f.headline += " (" + task.reason + ")";
  }
  const auto due = f.until_due - f.whole;
  f.headline += "; its deadline is in " + spoken(due);
  if (f.need.basis == NeedBasis::kForecast) {
    f.headline += ", and with its whole lane until then it reaches its target with " +
                  percent(f.need.probability);
  }
}

// What a task that is over still needed. need_of learned from runs that were planned for about what
// they took: a plan without an end, as of a task without epochs, makes its answer far too long. So
// the curve alone has a say, as it has in what need_of takes for feasible.
//
// Without a planned length the way ends at the deadline, where an ended task stands: it is looked
// at as if it had several times as long.
placement::Need need_at_end(const Task& task, TimeNs at) {
  constexpr DurationNs kAsLong = 4;
  Task longer = task;
  if (task.planned_samples == 0) {
    const DurationNs had = task.deadline_at - task.accepted_at;
    longer.deadline_at = had < (core::kTimeMax - task.accepted_at) / kAsLong
                             ? task.accepted_at + kAsLong * had
                             : core::kTimeMax;
  }
  placement::Need need = placement::need_of(longer, task.rate, at);
  need.left = task.deadline_at - at;
  if (need.basis != NeedBasis::kForecast) return need;
  const auto curve = task.forecast.samples_to_reach(task.spec.target_loss,
                                                    static_cast<double>(task.planned_samples));
  if (!(curve.samples < need.samples.median)) return need;
  const auto lower = [&curve](placement::NeedRange& range, double by) {
    range.median = curve.samples * by;
    range.low = std::min(range.low, curve.low * by);
    range.high = std::max(range.median, std::min(range.high, curve.high * by));
  };
  lower(need.samples, 1.0);
  lower(need.seconds, 1.0 / need.speed);
  return need;
}

std::int64_t full_mw_of(const core::State& state, const Task& task) {
  const core::PowerConfig& power = state.config.power;
  const std::int64_t lane =
      task.spec.lane == core::LaneKind::kGpu ? power.gpu_dynamic_mw : power.cpu_dynamic_mw;
  return lane > 0 ? power.governor.idle_mw + lane : 0;
}

}  // namespace

Finding finding_of(const core::State& state, const Task& task, TimeNs now) {
  Finding f;
  f.over = task.state == core::TaskState::kEnded;
  const TimeNs until = f.over ? task.ended_at : std::max(now, state.now);
  const core::TimeSheet sheet = f.over ? task.time_sheet : core::time_sheet_at(state, task, until);
  f.task = task.spec.name;
  f.state = task.outcome != Outcome::kNone ? name(task.outcome) : name(task.state);
  f.whole = until - task.accepted_at;
  f.until_due = task.deadline_at - task.accepted_at;
  f.unrecorded = f.whole - sheet.total();
  for (const core::TimeSheetLine& line : sheet.lines()) {
    if (line.ns > 0 || line.times > 0) f.uses.push_back({line, name_of(state, task, line.key)});
  }
  std::stable_sort(f.uses.begin(), f.uses.end(),
                   [](const Use& a, const Use& b) { return a.line.ns > b.line.ns; });
  f.need = task.outcome != Outcome::kNone ? need_at_end(task, until)
                                          : placement::need_of(task, task.rate, now);
  f.earlier = placement::earlier_run_of(task, state.find_any(task.recalled));
  f.full_mw = full_mw_of(state, task);
  switch (task.outcome) {
    case Outcome::kSucceeded:
      f.headline = f.state + " " + spoken(task.deadline_at - until) + " before its deadline";
      break;
    case Outcome::kMissed: find_missed(f, task); break;
    case Outcome::kExhausted: find_exhausted(f, task); break;
    case Outcome::kFailed: find_failed(f, task); break;
    case Outcome::kMoved:
    case Outcome::kCancelled:
      f.cause = Cause::kCancelled;
      f.headline = task.reason.empty() ? f.state : task.reason;
      break;
    case Outcome::kNone: find_live(f, state, task); break;
  }
  // The end's own reason may stand before it.
  const std::size_t made_by =
      task.spec.cotrain ? task.reason.find(core::kGroupNote) : std::string::npos;
  if (made_by != std::string::npos) f.group = task.reason.substr(made_by);
  add_savers(f, state, task);
  return f;
}

Result<Finding> find_out(const core::State& state, std::string_view task, TimeNs now) {
  const Task* found = state.find_named(task);
  // Of a recurring task, the newest run.
  const core::Recurring* recurring = state.find_recurring(task);
  if (recurring != nullptr) found = state.find_any(recurring->run);
  if (found == nullptr && recurring != nullptr) {
    return fail(Code::kNotFound, "'" + std::string(task) + "' has had no run yet");
  }
  if (found == nullptr) return fail(Code::kNotFound, "no task '" + std::string(task) + "'");
  return finding_of(state, *found, now);
}

}  // namespace laird::why
