// Recurring tasks: when their windows begin and end, the runs they begin, the windows they miss.
#include <algorithm>

#include "agent/core/step/stepper.hpp"

namespace laird::core {
namespace {

// Of its runs: what is asked for, without what concerns the schedule.
TaskSpec spec_of_runs(const TaskSpec& spec) {
  TaskSpec out = spec;
  out.every.window = {};
  out.run_of = spec.name;
  return out;
}

std::string times(std::uint64_t count) {
  return count == 1 ? "a window" : std::to_string(count) + " windows";
}

}  // namespace

Status Stepper::check_recurring(const TaskSpec& spec) const {
  if (!spec.every.window.fits_limits()) return fail(Code::kInvalid, "every: no window of a week");
  if (!spec.run_of.empty()) return fail(Code::kInvalid, "a run of a recurring task is none itself");
  const std::size_t most =
      (spec.promote.wanted ? kPromotedNameBytesMax : kNameBytesMax) - kRunSuffixBytesMax;
  if (spec.name.size() > most) {
    return fail(Code::kInvalid, "a task that recurs has a name of at most " + std::to_string(most) +
                                    " bytes" + (spec.promote.wanted ? " if it is promoted" : "") +
                                    "; shorten it");
  }
  if (spec.deadline_wall > 0) {
    return fail(Code::kInvalid,
                "a task that recurs ends with its window, or so long after the beginning of each "
                "run; give no time of day as its deadline");
  }
  const auto scheduled = std::count_if(s_.recurring.begin(), s_.recurring.end(),
                                       [](const Recurring& r) { return !r.is_over(); });
  if (scheduled >= static_cast<std::ptrdiff_t>(kRecurringMax)) {
    return fail(Code::kFull, "the board has " + std::to_string(kRecurringMax) +
                                 " recurring tasks, the limit; cancel one");
  }
  TaskSpec run = spec_of_runs(spec);
  if (run.deadline_after == 0) run.deadline_after = spec.every.window.length();
  return check_admission(run);
}

// The caller has made sure that the name is free, and that the board can run it.
void Stepper::accept_recurring(const Submitted& e) {
  if (s_.recurring.size() >= kRecurringMax) {
    const auto over = std::find_if(s_.recurring.begin(), s_.recurring.end(),
                                   [](const Recurring& r) { return r.is_over(); });
    if (over != s_.recurring.end()) s_.recurring.erase(over);
  }
  for (Part<Task>& task : s_.ended) {
    if (task->spec.name == e.spec.name && !task->removed) task.change().removed = true;
  }
  Recurring r;
  r.key = s_.next_key++;
  r.spec = e.spec;
  r.accepted_at = s_.now;
  r.last_day = last_day_over(r.spec.every.window, s_.zone, wall_now());
  const Window first = window_after(r.spec.every.window, s_.zone, r.last_day);
  const TaskKey key = r.key;
  s_.recurring.push_back(std::move(r));
  answer(e.request, key,
         "accepted; " + (first.begin <= wall_now()
                             ? std::string("its first run begins now")
                             : "its first run begins " + local_text(s_.zone, first.begin)));
}

// True when the submission is answered: it is known, or its name is another's.
bool Stepper::answer_known_recurring(const Submitted& e) {
  const Recurring* known = s_.find_recurring(e.spec.name);
  if (known == nullptr) return false;
  const bool same = known->submitted_digest == 0
                        ? known->spec.same_as(e.spec)
                        : known->submitted_digest == digest_of_spec(e.spec);
  const bool again = e.replace && known->is_over();
  if (same && !again) {
    answer(e.request, known->key, "known already: " + std::string(name(known->state)));
    return true;
  }
  if (e.replace) return false;
  refuse(e.request, Code::kExists,
         "a recurring task has the name '" + e.spec.name +
             "'; choose a new name, or take it over (`lairctl submit --replace`)");
  return true;
}

// Ends its runs, and with them their promotions.
std::string Stepper::end_runs(std::string_view recurring, const std::string& why) {
  std::string out;
  for (Task& task : s_.live) {
    if (task.spec.run_of != recurring || task.outcome != Outcome::kNone) continue;
    out += (out.empty() ? "" : ", ") + task.spec.name;
    decide(task, Outcome::kCancelled, why);
  }
  return out;
}

void Stepper::drop_recurring(std::string_view task, const std::string& why) {
  static_cast<void>(end_runs(task, why));
  std::erase_if(s_.recurring, [&](const Recurring& r) { return r.spec.name == task; });
}

void Stepper::cancel_recurring(Recurring& r, std::uint64_t request) {
  if (r.is_over()) return answer(request, r.key, "cancelled already");
  r.state = RecurringState::kCancelled;
  r.waiting = false;
  r.reason = clipped("cancelled by " + (by_.empty() ? "an operator" : std::string(by_)));
  const std::string runs = end_runs(r.spec.name, r.reason);
  answer(request, r.key, "cancelled; " + (runs.empty() ? "no run was at work" : "so is " + runs));
}

void Stepper::pause_recurring(Recurring& r, std::uint64_t request) {
  if (r.is_over()) return refuse(request, Code::kRefused, "it has been cancelled");
  if (r.state == RecurringState::kPaused) return answer(request, r.key, "paused already");
  r.state = RecurringState::kPaused;
  r.waiting = false;
  r.reason = clipped(by_.empty() ? "paused by an operator" : "paused by " + std::string(by_));
  answer(request, r.key, "paused: no run begins until it is resumed; one at work goes on");
}

void Stepper::resume_recurring(Recurring& r, std::uint64_t request) {
  if (r.state != RecurringState::kPaused) return answer(request, r.key, "not paused");
  r.state = RecurringState::kScheduled;
  r.reason.clear();
  r.last_day = std::max(r.last_day, last_day_over(r.spec.every.window, s_.zone, wall_now()));
  r.due_wall = 0;
  answer(request, r.key, "resumed");
}

// The schedule has another window: what the days had of the one before is not counted, but a run
// that began within the new one is the run of that day.
void Stepper::begin_calendar(Recurring& r) {
  const WeeklyWindow& weekly = r.spec.every.window;
  r.last_day = last_day_over(weekly, s_.zone, wall_now());
  r.back_since = 0;
  const Window next = window_after(weekly, s_.zone, r.last_day);
  const Task* run = s_.find_any(r.run);
  if (run == nullptr) return;
  const TimeNs began = run->accepted_at + s_.wall_minus_agent;
  if (began >= next.begin && began < next.end) r.last_day = next.day;
}

void Stepper::edit_recurring(Recurring& r, const EditRequested& e) {
  if (r.is_over()) return refuse(e.request, Code::kRefused, "it has been cancelled");
  if (e.deadline_wall > 0) {
    return refuse(e.request, Code::kInvalid,
                  "a task that recurs has no time of day as its deadline; give a duration");
  }
  TaskSpec edited = r.spec;
  if (e.deadline_add != 0 && edited.deadline_after == 0) {
    return refuse(e.request, Code::kInvalid,
                  "its runs end with their window; give a duration, like 2h");
  }
  edited.deadline_after += e.deadline_add;
  if (e.deadline_after > 0) edited.deadline_after = e.deadline_after;
  if (e.weight_milli != 0) edited.weight_milli = e.weight_milli;
  if (e.window.wanted()) edited.every.window = e.window;
  if (edited.deadline_after < 0 || edited.deadline_after > kDeadlineMax ||
      (e.deadline_add != 0 && edited.deadline_after == 0)) {
    return refuse(e.request, Code::kInvalid, "the new deadline leaves a run no time");
  }
  if (!is_weight(edited.weight_milli) || !edited.every.window.fits_limits()) {
    return refuse(e.request, Code::kInvalid, "weight must be 0.1 to 100, and every a window");
  }
  if (r.submitted_digest == 0) r.submitted_digest = digest_of_spec(r.spec);
  const bool other_window = edited.every.window != r.spec.every.window;
  r.spec = std::move(edited);
  if (other_window) begin_calendar(r);
  r.waiting = false;
  if (r.state == RecurringState::kScheduled) r.reason.clear();
  r.due_wall = 0;
  answer(e.request, r.key, "edited; it holds from the next run on");
}

void Stepper::remove_recurring(const Recurring& r, std::uint64_t request) {
  if (!r.is_over()) {
    return refuse(request, Code::kRefused, "it is not over yet; `lairctl cancel` ends it");
  }
  const TaskKey key = r.key;
  std::erase_if(s_.recurring, [key](const Recurring& other) { return other.key == key; });
  answer(request, key, "removed; the name is free");
}

// What keeps a run from beginning now; empty when nothing does.
std::string Stepper::hindrance_of(const Recurring& r, const TaskSpec& run) const {
  const auto busy = std::find_if(s_.live.begin(), s_.live.end(),
                                 [&](const Task& task) { return task.spec.run_of == r.spec.name; });
  if (busy != s_.live.end()) return "'" + busy->spec.name + "' is not over yet";
  const Status ok = check_admission(run);
  return ok ? std::string() : ok.error().context;
}

bool Stepper::begin_run(Recurring& r, const Window& window) {
  TaskSpec spec = spec_of_runs(r.spec);
  spec.deadline_wall = window.end;
  if (spec.deadline_after > 0) {
    spec.deadline_wall = std::min(window.end, wall_now() + spec.deadline_after);
    spec.deadline_after = 0;
  }
  std::uint64_t number = r.runs;
  do {
    spec.name = r.spec.name + "-" + std::to_string(++number);
  } while (s_.had_name(spec.name) || s_.find_recurring(spec.name) != nullptr);
  r.reason = number > kRunsMax ? "it has had " + std::to_string(kRunsMax) +
                                     " runs, the limit; submit it by another name"
                               : hindrance_of(r, spec);
  if (!r.reason.empty()) return false;
  r.runs = number;
  spec.deadline_after = spec.deadline_wall - wall_now();
  const TaskKey key = add_task(std::move(spec), true);
  Task* task = s_.find_live(key);
  if (r.spec.every.warm_start) task->warm_from = r.model_of;
  r.run = key;
  return true;
}

// What its window means at this moment of the wall clock.
void Stepper::look_at(Recurring& r, TimeNs wall) {
  const WeeklyWindow& weekly = r.spec.every.window;
  const Window last = window_on(weekly, s_.zone, r.last_day);
  // Of the window that comes next after the last day.
  const std::string waited_for = r.waiting ? r.reason : std::string();
  r.waiting = false;
  if (last.begin <= wall + kClockBackMax) {
    r.back_since = 0;
  } else {
    // The clock was set back to before a window that has been. It may come right again.
    if (r.back_since == 0) r.back_since = s_.now;
    const TimeNs believed_at = r.back_since + kClockBelievedAfter;
    if (s_.now < believed_at) {
      if (r.state == RecurringState::kScheduled) r.reason.clear();
      r.due_wall = wall + (believed_at - s_.now);
      return;
    }
    r.back_since = 0;
    r.last_day = last_day_over(weekly, s_.zone, wall);
  }
  r.last_day = std::max(r.last_day, day_of(s_.zone, wall) - kMissedDaysMax);
  std::uint64_t missed = 0;
  for (;;) {
    const Window window = window_after(weekly, s_.zone, r.last_day);
    r.due_wall = window.begin;
    if (wall < window.begin) break;
    const bool is_over = wall >= window.end;
    if (r.state == RecurringState::kPaused) {
      r.due_wall = window.end;
      if (!is_over) break;
    } else if (is_over) {
      ++missed;
      r.missed_wall = window.begin;
    } else if (!begin_run(r, window)) {
      r.waiting = true;
      r.due_wall = window.end;
      break;
    }
    r.last_day = window.day;
  }
  // What a window waited for is known of the first of them only.
  if (missed > 0) tell_missed(r, missed, missed == 1 ? waited_for : std::string());
}

void Stepper::tell_missed(Recurring& r, std::uint64_t missed, const std::string& why) {
  r.missed += missed;
  r.missed_why = why.empty() ? "the agent was not running, or the clock was set" : why;
  if (!r.waiting && r.state == RecurringState::kScheduled) r.reason.clear();
  out_.push_back({Notice{NoticeKind::kSchedule,
                         clipped(r.spec.name + ": missed " + times(missed) + ", " +
                                 (missed == 1 ? "that of " : "the last that of ") +
                                 local_text(s_.zone, r.missed_wall) + ": " + r.missed_why)}});
}

void Stepper::follow_calendar() {
  if (s_.shutting_down || s_.policy == nullptr) return;
  const TimeNs wall = wall_now();
  for (Recurring& r : s_.recurring) {
    if (!r.is_over() && (r.waiting || wall >= r.due_wall)) look_at(r, wall);
  }
}

// The clock or the zone is another: whatever was due is worked out anew.
void Stepper::look_at_calendar_again() {
  for (Recurring& r : s_.recurring) r.due_wall = 0;
}

// When the calendar is to be looked at next, in agent time.
TimeNs Stepper::calendar_due_at() const {
  TimeNs due = kNever;
  for (const Recurring& r : s_.recurring) {
    if (!r.is_over() && r.due_wall != kNever) due = std::min(due, r.due_wall - s_.wall_minus_agent);
  }
  return s_.shutting_down ? kNever : due;
}

// A run has ended: what it leaves is what the next one may begin with.
void Stepper::note_run(const Task& task) {
  if (task.spec.run_of.empty() || !task.spec.promotes.empty()) return;
  Recurring* r = s_.find_recurring(task.spec.run_of);
  if (r != nullptr && r->run == task.key && task.restore_ns > 0 && task.checkpoint_samples > 0) {
    r->model_of = task.key;
  }
}

}  // namespace laird::core
