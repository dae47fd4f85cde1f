#include "agent/core/step/step.hpp"

#include <utility>

#include "agent/core/step/stepper.hpp"
#include "agent/core/step/time_sheet.hpp"
#include "agent/placement/earlier_run.hpp"
#include "agent/placement/need.hpp"
#include "base/require.hpp"

namespace laird::core {

void Stepper::on(const Booted& e) {
  // Not the machine's end, which no trainer is to blame for, nor one that was asked for.
  const bool agent_died = !s_.shutting_down && e.machine_boot == s_.fleet.machine_boot;
  s_.booted_at = s_.now;
  s_.wall_minus_agent = e.wall_ns - s_.now;
  s_.zone = e.zone;
  look_at_calendar_again();
  s_.shutting_down = false;
  s_.exit_sent = false;
  s_.wake_at = kNever;
  s_.wanted.clear();
  if (s_.policy == nullptr || s_.policy->name() != e.config.policy) {
    Result<std::unique_ptr<policies::Policy>> made = policies::make_policy(e.config.policy);
    LAIRD_REQUIRE(made.has_value(), "booted with a policy that does not exist");
    s_.policy = std::move(*made);
  }
  const PowerConfig power_before = std::move(s_.config.power);
  s_.config = e.config;
  s_.agent_minus_machine = s_.now - e.machine_ns;
  boot_fleet(e);
  s_.meter.set_config(e.config.meter);
  s_.meter.on_restart();
  lanes_changed_ = true;
  s_.lanes.clear();
  for (const LaneConfig& config : e.config.lanes) {
    s_.lanes.push_back(Lane{});
    s_.lanes.back().config = config;
  }
  boot_power(power_before);
  for (Task& task : s_.live) {
    task.lane = -1;
    task.share_ppm = 0;
    task.checkpoint_asked = false;
    task.samples = task.checkpoint_samples;
    task.time_sheet.count(TimeUse::kAgentDown);
    task.time_sheet.lost(TimeUse::kAgentDown);
    task.deadline_at = deadline_of(task.spec, task.accepted_at);
    if (agent_died && has_process(task.state) && task.outcome == Outcome::kNone) {
      ++task.agent_deaths;
    }
    move(task, Trigger::kReboot);
    if (task.agent_deaths >= kAgentDeathsMax && task.outcome == Outcome::kNone) {
      decide(task, Outcome::kFailed,
             "the agent ended " + std::to_string(task.agent_deaths) +
                 " times in a row while its trainer was starting, so the trainer is the likely "
                 "cause");
    }
  }
}

void Stepper::on(const ClockStepped& e) {
  s_.wall_minus_agent = e.wall_ns - s_.now;
  s_.zone = e.zone;
  look_at_calendar_again();
  for (Task& task : s_.live) task.deadline_at = deadline_of(task.spec, task.accepted_at);
}

void Stepper::on(const PowerSampled& e) {
  power::PowerReading reading = e.reading;
  reading.at = s_.now;
  s_.meter_source = reading.source;
  s_.meter.on_reading(reading, reading.total_mw ? between_readings_mw() : 0);
  govern_reading(reading);
}

// Tells the meter what runs from now on, so that it can say whose energy it was.
void Stepper::meter_running() {
  std::vector<power::Running> running;
  for (const Lane& lane : s_.lanes) {
    for (const TaskKey key : lane.running) {
      const Task* task = s_.find_live(key);
      LAIRD_REQUIRE(task != nullptr, "a lane runs a task that is not live");
      running.push_back(
          {key, lane.config.kind == LaneKind::kGpu ? power::LaneKind::kGpu : power::LaneKind::kCpu,
           static_cast<std::int32_t>(task->share_ppm / 1000)});
    }
  }
  s_.meter.on_running(s_.now, running);
}

void Stepper::on(const ShutdownRequested&) {
  s_.shutting_down = true;
  s_.wanted.clear();
  for (Task& task : s_.live) {
    if (!is_listed(task.state, Trigger::kEvict)) continue;
    leave_lane(task);
    move(task, Trigger::kEvict);
    out_.push_back({StopTrainer{task.process()}});
  }
  release_power();
}

void Stepper::apply(const Event& event) {
  LAIRD_REQUIRE(event.at >= s_.now, "time went back");
  account_time(s_, event.at, std::holds_alternative<Booted>(event.body));
  s_.now = event.at;
  std::visit([this](const auto& body) { on(body); }, event.body);
  fleet_tick();
  advance_moves();
  expire_all();
  sweep_ended();
  follow_calendar();
  govern();
  watch_titles();
  schedule();
  note_held_back();
  if (lanes_changed_) meter_running();
  finish_shutdown();
  set_wake();
}

void step(State& state, const Event& event, Effects& out) { Stepper(state, out).apply(event); }

Status admissible(const State& state, const Event& event) {
  if (event.at < state.now) return fail(Code::kCorrupt, "an event is older than the one before it");
  if (!is_instant(event.at)) return fail(Code::kCorrupt, "an event is of no possible time");
  if (const auto* stepped = std::get_if<ClockStepped>(&event.body)) {
    if (!is_instant(stepped->wall_ns)) return fail(Code::kCorrupt, "a wall clock that cannot be");
    if (!stepped->zone.fits_limits()) return fail(Code::kCorrupt, "a local time that cannot be");
  }
  if (const auto* changed = std::get_if<BudgetChanged>(&event.body)) {
    LAIRD_TRY(check_fleet_budget(changed->budget));
  }
  if (const auto* commanded = std::get_if<OperatorCommand>(&event.body)) {
    const auto* changed = std::get_if<BudgetChanged>(&commanded->body);
    if (changed != nullptr) {
      LAIRD_TRY(check_fleet_budget(changed->budget));
    }
  }
  const Booted* booted = std::get_if<Booted>(&event.body);
  if (booted == nullptr) {
    if (state.policy == nullptr) return fail(Code::kCorrupt, "events begin before the first boot");
    return {};
  }
  if (!is_instant(booted->wall_ns)) return fail(Code::kCorrupt, "a wall clock that cannot be");
  if (!booted->zone.fits_limits()) return fail(Code::kCorrupt, "a local time that cannot be");
  LAIRD_TRY(policies::make_policy(booted->config.policy));
  return check_config(booted->config);
}

namespace {

// Where a task that may move stands between the boards; empty for one that simply is here.
[[nodiscard]] std::string title_text(const State& state, const Task& task) {
  const Moving& moving = task.moving;
  if (moving.stage != MoveStage::kNone) {
    return "; on its way to " + moving.to + " (" + std::string(name(moving.stage)) + ")";
  }
  const auto& titles = std::as_const(state.fleet.titles);
  if (!moving.titled() || !titles) return "";
  const consensus::HeldTitle* title = titles->titles().holds(moving.title);
  if (title == nullptr) return "";
  const std::string* backup = name_of(state.fleet.budget, title->backup.node);
  const std::string who = backup == nullptr ? "its backup" : "its backup " + *backup;
  if (title->state == consensus::TitleState::kUnconfirmed) {
    return "; waits for " + who + " to say that it did not take the task over";
  }
  if (title->state == consensus::TitleState::kStranded) {
    return "; " + who +
           " cannot say whose it is: look on every board whether it runs, then cancel "
           "it here, or remove it there";
  }
  if (is_on_floor(state, state.now)) return "; waits until the board is part of its fleet again";
  return "";
}

}  // namespace

std::string explain(const State& state, const Recurring& r) {
  std::string out = std::string(name(r.state)) + ": every " + text_of(r.spec.every.window);
  if (!r.reason.empty()) out += " (" + r.reason + ")";
  if (!r.is_over() && !r.waiting && r.due_wall != kNever && r.state == RecurringState::kScheduled) {
    out += r.back_since != 0 ? "; the clock is before its last window, and may be wrong"
                             : "; next run " + local_text(state.zone, r.due_wall);
  }
  out += "; runs: " + std::to_string(r.runs);
  if (const Task* run = state.find_any(r.run)) {
    out += ", the last '" + run->spec.name + "': " +
           std::string(run->outcome == Outcome::kNone ? name(run->state) : name(run->outcome));
  }
  if (r.missed > 0) {
    out += "; missed windows: " + std::to_string(r.missed) + ", the last " +
           local_text(state.zone, r.missed_wall) + ": " + r.missed_why;
  }
  return out;
}

Result<std::string> explain(const State& state, std::string_view task) {
  if (const Recurring* r = state.find_recurring(task)) return explain(state, *r);
  const Task* found = state.find_named(task);
  if (found == nullptr) return fail(Code::kNotFound, "no task '" + std::string(task) + "'");
  if (found->state == TaskState::kEnded) {
    return std::string(name(found->outcome)) + ": " + found->reason;
  }
  std::string out(throttled_now(state, *found) ? "throttled" : name(found->state));
  if (!found->reason.empty()) out += " (" + found->reason + ")";
  out += title_text(state, *found);
  if (state.policy != nullptr) out += "; " + state.policy->explain(*found);
  out += "; " + placement::describe(placement::need_of(*found, found->rate, state.now));
  const auto earlier = placement::earlier_run_of(*found, state.find_any(found->recalled));
  if (earlier) out += "; " + placement::describe(*earlier);
  return out;
}

}  // namespace laird::core
