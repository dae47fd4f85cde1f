#include "agent/core/state/state.hpp"

#include <algorithm>

namespace laird::core {
namespace {

// An instant still to come.
bool is_due(TimeNs at) { return at >= 0 && at <= kTimeMax + kWaitMax; }

}  // namespace

std::string_view name(RecurringState state) {
  switch (state) {
    case RecurringState::kScheduled: return "scheduled";
    case RecurringState::kPaused: return "paused";
    case RecurringState::kCancelled: return "cancelled";
  }
  return "unknown";
}

void Recurring::archive(Archive& ar) {
  ar(key);
  ar(spec);
  ar.bounded(state, RecurringState::kCancelled);
  ar.text(reason, kReasonBytesMax);
  ar(accepted_at, last_day, due_wall, waiting, back_since, runs, missed, missed_wall);
  ar.text(missed_why, kReasonBytesMax);
  ar(run, model_of, submitted_digest);
}

bool Recurring::fits_limits() const {
  constexpr LocalDay kDayMax = kTimeMax / kDay;
  const bool is_schedule = spec.every.window.wanted() && spec.every.window.fits_limits() &&
                           !spec.name.empty() && spec.name.size() <= kRecurringNameBytesMax &&
                           spec.run_of.empty() && runs <= kRunsMax;
  const bool has_length =
      spec.deadline_wall == 0 && spec.deadline_after >= 0 && spec.deadline_after <= kDeadlineMax;
  const bool times = is_instant(accepted_at) && is_instant(back_since) &&
                     (due_wall == kNever || is_due(due_wall)) && missed_wall >= -kTimeMax &&
                     is_due(std::max<TimeNs>(missed_wall, 0)) && last_day >= -kDayMax &&
                     last_day <= kDayMax;
  return is_schedule && has_length && times;
}

void Lane::archive(Archive& ar) {
  ar(config);
  ar.sequence(running, kTasksLiveMax);
  ar(last_task);
  ar(slice_ends_at);
  ar(slice);
  ar(gate);
}

void Counters::archive(Archive& ar) {
  ar(decisions);
  ar(switches);
  ar(crashes);
  ar(evictions);
  ar(breaches);
}

Task* State::find_live(TaskKey key) {
  const auto at = std::lower_bound(live.begin(), live.end(), key,
                                   [](const Task& t, TaskKey k) { return t.key < k; });
  return at != live.end() && at->key == key ? &*at : nullptr;
}

const Task* State::find_live(TaskKey key) const { return const_cast<State*>(this)->find_live(key); }

const Task* State::find_named(std::string_view task) const {
  for (auto t = live.rbegin(); t != live.rend(); ++t) {
    if (t->spec.name == task) return &*t;
  }
  for (auto t = ended.rbegin(); t != ended.rend(); ++t) {
    if ((*t)->spec.name == task && !(*t)->removed) return &**t;
  }
  return nullptr;
}

Recurring* State::find_recurring(std::string_view task) {
  for (Recurring& r : recurring) {
    if (r.spec.name == task) return &r;
  }
  return nullptr;
}

const Recurring* State::find_recurring(std::string_view task) const {
  return const_cast<State*>(this)->find_recurring(task);
}

bool State::had_name(std::string_view task) const {
  const auto named = [task](const Task& t) {
    return t.spec.name == task || t.spec.folder() == task;
  };
  return std::any_of(live.begin(), live.end(), named) ||
         std::any_of(ended.begin(), ended.end(), [&](const Part<Task>& t) { return named(*t); });
}

const Task* State::find_any(TaskKey key) const {
  if (const Task* t = find_live(key)) return t;
  for (const Task& t : ended) {
    if (t.key == key) return &t;
  }
  return nullptr;
}

std::int64_t State::memory_used_bytes() const {
  std::int64_t used = 0;
  for (const Task& t : live) {
    if (has_process(t.state)) used += t.spec.memory_bytes;
  }
  return used;
}

void State::archive(Archive& ar) {
  ar(now);
  ar(booted_at);
  ar(wall_minus_agent);
  ar(shutting_down);
  ar(exit_sent);
  ar(wake_at);
  ar(next_key);
  ar(config);
  ar.sequence(lanes, kLanesMax);
  ar.sequence(live, kTasksLiveMax);
  ar.sequence(ended, kTasksEndedKept);
  ar.sequence(wanted, kTasksLiveMax);
  ar(counters);
  ar(meter);
  ar.bounded(meter_source, power::Source::kModelled);
  ar(power);
  ar(draining);
  ar(agent_minus_machine);
  fleet.archive(ar, config.fleet, config.node);
  // Agents of before did not note it, but forgot nothing that had not expired.
  if (!ar.since(4)) fleet.forgotten_until_wall = now + wall_minus_agent;
  bool has_policy = policy != nullptr;
  ar(has_policy);
  if (ar.failed()) return;
  if (ar.reading()) {
    policy.reset();
    if (has_policy) {
      Result<std::unique_ptr<policies::Policy>> made = policies::make_policy(config.policy);
      if (!made) {
        ar.fail();
        return;
      }
      policy = std::move(*made);
    }
  }
  if (policy != nullptr) policy->archive(ar);
  if (ar.since(6)) {
    ar(zone);
    ar.sequence(recurring, kRecurringMax);
  }
}

std::uint64_t State::digest() {
  Archive ar = Archive::hasher();
  archive(ar);
  return ar.digest();
}

bool is_on_floor(const State& state, TimeNs now) {
  return state.fleet.on_floor(now + fence_margin(state.config.slice, state.config.fleet.lease));
}

Amounts enforced_at(const State& state, TimeNs now) {
  Amounts out = state.fleet.enforced;
  if (!state.fleet.member() || !is_on_floor(state, now)) return out;
  const FleetMember* self = state.fleet.budget.member(state.config.node);
  for (std::size_t r = 0; r < kResources; ++r) {
    if (out[r] != kUnlimited) out[r] = self == nullptr ? 0 : self->floor[r];
  }
  return out;
}

Bytes encode(State& state) {
  Bytes out;
  Archive ar = Archive::writer(out);
  ar(state);
  return out;
}

namespace {

bool fits_limits(const Task& t) {
  const bool samples = t.samples <= kSamplesMax && t.checkpoint_samples <= kSamplesMax &&
                       t.grant_until <= kSamplesMax && t.grant_from <= kSamplesMax;
  const bool times = is_instant(t.accepted_at) && is_instant(t.state_since) &&
                     is_instant(t.heard_at) && is_instant(t.ready_at) && is_instant(t.grant_at) &&
                     is_instant(t.checkpoint_at) && is_due(t.slice_ends_at) && is_due(t.retry_at) &&
                     t.deadline_at >= -kTimeMax && t.busy_ns >= 0 && t.busy_ns <= kTimeMax &&
                     is_instant(t.moving.copied_at) && is_due(t.moving.until) &&
                     t.busy_heard_ns >= 0 && t.busy_heard_ns <= kTimeMax;
  const bool spec = t.spec.deadline_wall <= kTimeMax + kDeadlineMax &&
                    t.spec.deadline_after <= kDeadlineMax && t.spec.memory_bytes >= 0 &&
                    t.spec.memory_bytes <= kMemoryBytesMax && t.spec.report_every >= 1 &&
                    t.spec.report_every <= kReportEveryMax && t.spec.promote.fits_limits() &&
                    (!t.spec.promote.wanted || t.spec.name.size() <= kPromotedNameBytesMax) &&
                    t.promotion.fits_limits();
  const bool costs = t.restore_ns >= 0 && t.restore_ns <= kTimeMax && t.checkpoint_ns >= 0 &&
                     t.checkpoint_ns <= kTimeMax;
  return samples && times && costs && spec && t.time_sheet.fits_limits() && t.rate >= 0.0 &&
         t.rate <= 1e300;
}

bool holds_lane(TaskState state) {
  return state == TaskState::kRunning || state == TaskState::kPreempting;
}

// The core asserts on these relations, and a snapshot is input like any other.
Status check_snapshot(const State& state) {
  const auto corrupt = [](const char* what) {
    return fail(Code::kCorrupt, std::string("the snapshot's ") + what);
  };
  if (!is_instant(state.now) || state.wall_minus_agent < -kTimeMax ||
      state.wall_minus_agent > kTimeMax) {
    return corrupt("times are off");
  }
  if (!state.power.fits_limits()) return corrupt("caps are beyond the limits");
  if (!state.zone.fits_limits()) return corrupt("local time is off");
  for (const Recurring& r : state.recurring) {
    if (!r.fits_limits() || r.key >= state.next_key) return corrupt("recurring tasks are off");
  }
  if (state.policy != nullptr) {
    LAIRD_TRY(check_config(state.config));
    if (state.lanes.size() != state.config.lanes.size())
      return corrupt("lanes are not the board's");
  } else if (!state.live.empty()) {
    return corrupt("tasks came before the first boot");
  }
  std::size_t holding = 0;
  TaskKey last = 0;
  for (const Task& t : state.live) {
    if (t.key <= last || t.key >= state.next_key) return corrupt("tasks are out of order");
    last = t.key;
    if (!fits_limits(t)) return corrupt("tasks are beyond the limits");
    const bool decided = t.outcome != Outcome::kNone;
    if (t.state == TaskState::kEnded || decided != (t.state == TaskState::kFinishing)) {
      return corrupt("tasks contradict their states");
    }
    if (holds_lane(t.state) != (t.lane >= 0)) return corrupt("tasks contradict their lanes");
    holding += t.lane >= 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < state.lanes.size(); ++i) {
    const Lane& lane = state.lanes[i];
    if (lane.slice < 0 || lane.slice > kSliceMax || !is_due(lane.slice_ends_at) ||
        !lane.gate.fits_limits()) {
      return corrupt("slices are off");
    }
    for (auto key = lane.running.begin(); key != lane.running.end(); ++key) {
      const Task* task = state.find_live(*key);
      if (task == nullptr || task->lane != static_cast<std::int32_t>(i) ||
          std::find(lane.running.begin(), key, *key) != key) {
        return corrupt("lanes run tasks that are not theirs");
      }
      --holding;
    }
  }
  return holding == 0 ? Status{} : corrupt("tasks hold lanes that do not run them");
}

}  // namespace

Result<State> decode_state(std::string_view bytes, std::int64_t format) {
  State state;
  Archive ar = Archive::reader(bytes, format);
  ar(state);
  if (ar.failed() || !ar.at_end()) {
    return fail(Code::kCorrupt,
                "the snapshot does not decode; it is damaged or of another version");
  }
  LAIRD_TRY(check_snapshot(state));
  return state;
}

}  // namespace laird::core
