#include "agent/whatif/rerun.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/core/step/gate.hpp"
#include "agent/core/step/step.hpp"
#include "agent/whatif/life.hpp"

namespace laird::whatif {
namespace {

// How long the board's power is read after the recorded life ended.
constexpr DurationNs kReadingsMore = kDay;

}  // namespace

void Life::apply(TimeNs at, core::EventBody body) {
  now_ = std::max(at, state_.now);
  const core::Event event{now_, std::move(body)};
  if (!energy_then_ && now_ > r_.to) energy_then_ = state_.meter.totals().board.joules();
  lanes_.advance(now_);
  core::Effects effects;
  std::swap(effects, effects_);
  effects.clear();
  core::step(state_, event, effects);
  ++out_.events;
  names_.see(state_, [this](const TaskId& id, const core::Task& task) { meet(id, task); });
  tallier_.see(state_, names_);
  lanes_.see(state_);
  if (watch_) watch_(event, state_, effects);
  change_speed();
  for (const core::Effect& effect : effects) carry_out(effect);
  std::swap(effects, effects_);
}

void Life::happen(const Happening& h) {
  now_ = std::max(now_, h.at);
  if (h.kind == Kind::kWake) {
    if (h.generation == wake_generation_) apply(now_, core::Ticked{});
    return;
  }
  if (h.kind == Kind::kKnob) {
    apply(now_, core::PowerKnobSet{
                    static_cast<power::Rung>(h.task), power::KnobResult::kDone, h.value, {}});
    return;
  }
  if (h.kind == Kind::kReading) {
    power::PowerReading reading;
    reading.source = power::Source::kModelled;
    reading.total_mw = std::llround(r_.base_mw);
    read(now_, std::move(reading), {});
    if (now_ < r_.to + kReadingsMore) later(now_ + r_.reading_every, Kind::kReading, 0, 0);
    return;
  }
  Trainer& t = trainers_[h.task];
  if (h.kind == Kind::kIdleCrash) return on_idle_crash(h);
  const bool of_process = h.kind == Kind::kReady || h.kind == Kind::kStartFails ||
                          h.kind == Kind::kPaused || h.kind == Kind::kSaved ||
                          h.kind == Kind::kExit;
  if (!t.alive || h.generation != (of_process ? t.process : t.generation)) return;
  switch (h.kind) {
    case Kind::kReady:
      apply(now_, core::TrainerReady{t.ref, t.samples, t.record->planned_samples});
      return;
    case Kind::kStartFails: {
      t.alive = false;
      const core::EventBody& end = t.record->starts.at(static_cast<std::uint32_t>(h.value)).failure;
      if (const auto* failed = std::get_if<core::TrainerFailed>(&end)) {
        apply(now_, core::TrainerFailed{t.ref, failed->why});
      } else if (const auto* exited = std::get_if<core::TrainerExited>(&end)) {
        apply(now_, core::TrainerExited{t.ref, exited->exit_code});
      }
      return;
    }
    case Kind::kReport: return on_report(h.task, t);
    case Kind::kCrash: return on_crash(t);
    case Kind::kPaused: return on_paused(t);
    case Kind::kSaved:
      t.samples = samples_now(t);
      t.saved = t.samples;
      apply(now_, core::TrainerCheckpointed{t.ref, t.saved});
      return;
    case Kind::kExit: {
      const core::ProcessRef ref = t.ref;
      t.alive = false;
      if (h.value == 0) {
        // Stopped in order: what it has done is in its checkpoint.
        t.saved = t.samples;
        apply(now_, core::TrainerCheckpointed{ref, t.samples});
      }
      apply(now_, core::TrainerExited{ref, h.value});
      return;
    }
    case Kind::kYield: {
      const YieldRecord& yield = t.record->yields[t.yields++];
      stop_work(t);
      apply(now_, core::TrainerYielded{t.ref, yield.for_ns});
      return;
    }
    case Kind::kPromoted: {
      stop_work(t);
      core::TrainerPromoted promoted = *t.record->promoted;
      static_cast<core::ProcessRef&>(promoted) = t.ref;
      apply(now_, std::move(promoted));
      return;
    }
    case Kind::kIdleCrash:
    case Kind::kWake:
    case Kind::kKnob:
    case Kind::kReading: return;
  }
}

void Life::boot(TimeNs at, core::Booted booted) {
  die();
  booted.config = changes_.changed(booted.config);
  apply(at, std::move(booted));
}

void Life::limit(TimeNs at, const FleetLimits& limits) {
  const FleetLimits changed = changes_.changed(limits, at - r_.from);
  if (state_.policy == nullptr) return;
  state_.power.set_fleet_cap_mw(changed.cap_mw);
  state_.power.set_fleet_ceiling_ppm(core::LaneKind::kGpu, changed.ceiling_ppm[0]);
  state_.power.set_fleet_ceiling_ppm(core::LaneKind::kCpu, changed.ceiling_ppm[1]);
  apply(at, core::Ticked{});
}

void Life::read(TimeNs at, power::PowerReading reading, const std::array<double, 2>& then) {
  now_ = std::max(now_, at);
  lanes_.advance(now_);
  const std::array<double, 2> use = lanes_.use();
  if (reading.total_mw || changes_.board) {
    double total = 0.0;
    if (changes_.board) {
      const core::PowerConfig& power = changes_.board->power;
      total = static_cast<double>(power.governor.idle_mw) +
              use[0] * static_cast<double>(power.gpu_dynamic_mw) +
              use[1] * static_cast<double>(power.cpu_dynamic_mw);
      reading.source = power::Source::kModelled;
      reading.rails.clear();
    } else {
      total = static_cast<double>(*reading.total_mw);
      for (std::size_t k = 0; k < 2; ++k) total += r_.lane_mw[k] * (use[k] - then[k]);
    }
    const std::int64_t now_mw = std::max<std::int64_t>(1, std::llround(total));
    if (reading.total_mw && *reading.total_mw > 0) {
      for (power::RailReading& rail : reading.rails) {
        rail.mw = rail.mw * now_mw / *reading.total_mw;
      }
    }
    reading.total_mw = now_mw;
  }
  apply(at, core::PowerSampled{std::move(reading)});
}

void Life::submit(TimeNs at, core::EventBody body, core::TaskSpec spec) {
  std::vector<core::TaskSpec> more;
  for (const AddedTask& task : changes_.added) {
    if (task.like != spec.name) continue;
    core::TaskSpec added = spec;
    added.name = task.name;
    changes_.edit(added);
    more.push_back(std::move(added));
  }
  if (!changes_.drops(spec.name)) {
    changes_.edit(spec);
    if (auto* signed_ = std::get_if<core::OperatorCommand>(&body)) {
      std::get<core::Submitted>(signed_->body).spec = spec;
    } else {
      std::get<core::Submitted>(body).spec = spec;
    }
    apply(at, std::move(body));
  }
  for (core::TaskSpec& added : more) {
    added_.erase({added.name, 0});
    const TaskRecord* like = record_of({spec.name, 0});
    if (like != nullptr) added_.emplace(TaskId{added.name, 0}, *like);
    apply(at, core::Submitted{0, std::move(added), false});
  }
}

void Life::command(TimeNs at, core::OperatorCommand command) {
  if (std::holds_alternative<core::BudgetChanged>(command.body)) return;
  if (std::holds_alternative<core::CapRequested>(command.body) && !changes_.caps.empty()) return;
  if (const auto* submitted = std::get_if<core::Submitted>(&command.body)) {
    core::TaskSpec spec = submitted->spec;
    return submit(at, std::move(command), std::move(spec));
  }
  apply(at, std::move(command));
}

void Life::give(const Given& given) {
  if (!given.body) return limit(given.at, given.limits);
  if (const auto* booted = std::get_if<core::Booted>(&*given.body)) {
    return boot(given.at, *booted);
  }
  if (state_.policy == nullptr) return;
  if (const auto* power = std::get_if<core::PowerSampled>(&*given.body)) {
    return read(given.at, power->reading, given.use);
  }
  if (const auto* submitted = std::get_if<core::Submitted>(&*given.body)) {
    return submit(given.at, *given.body, submitted->spec);
  }
  if (const auto* commanded = std::get_if<core::OperatorCommand>(&*given.body)) {
    return command(given.at, *commanded);
  }
  if (std::holds_alternative<core::CapRequested>(*given.body) && !changes_.caps.empty()) return;
  apply(given.at, *given.body);
}

// The recorded ones, and what the changes add, in the order of time.
void Life::add_given() {
  given_ = r_.given;
  for (const LimitFrom& cap : changes_.caps) {
    if (cap.after == 0) continue;
    Given given;
    given.at = r_.from + cap.after;
    given.body = core::CapRequested{0, cap.mw, 0};
    given_.push_back(std::move(given));
  }
  for (const LimitFrom& budget : changes_.budgets) {
    if (budget.after == 0) continue;
    // The limits of that moment, told once more.
    Given given;
    given.at = r_.from + budget.after;
    bool known = false;
    for (const Given& before : r_.given) {
      if (before.at > given.at) break;
      if (before.body) continue;
      given.limits = before.limits;
      known = true;
    }
    if (known) given_.push_back(std::move(given));
  }
  std::stable_sort(given_.begin(), given_.end(),
                   [](const Given& a, const Given& b) { return a.at < b.at; });
}

// What is not to be there, of what the board had before its first event.
void Life::leave_out() {
  std::erase_if(state_.recurring,
                [this](const core::Recurring& r) { return changes_.drops(r.spec.name); });
  for (core::Recurring& r : state_.recurring) changes_.edit(r.spec);
  std::erase_if(state_.live, [this](const core::Task& task) {
    if (!changes_.drops(task.spec.name) && !changes_.drops(task.spec.run_of)) return false;
    for (core::Lane& lane : state_.lanes) {
      if (std::erase(lane.running, task.key) != 0 && lane.running.empty()) {
        core::end_spell(lane.gate, state_.now);
      }
    }
    std::erase(state_.wanted, task.key);
    if (state_.policy != nullptr) state_.policy->forget(task.key);
    return true;
  });
}

Status Life::begin() {
  LAIRD_TRY(changes_.fit(r_));
  add_given();
  if (!r_.first_state.empty()) {
    Result<core::State> first = core::decode_state(std::string_view(
        reinterpret_cast<const char*>(r_.first_state.data()), r_.first_state.size()));
    LAIRD_TRY(first);
    state_ = std::move(*first);
    state_.fleet = core::Fleet{};
    // Without a fleet there are no titles, and nothing moves.
    for (core::Task& task : state_.live) task.moving = {};
    leave_out();
  }
  names_.begin(state_);
  tallier_.begin(state_);
  first_energy_j_ = state_.meter.totals().board.joules();
  now_ = state_.now;
  for (core::Task& task : state_.live) {
    changes_.edit(task.spec);
    task.deadline_at = core::deadline_of(task.spec, task.accepted_at, state_.wall_minus_agent);
    meet(*names_.of(task.key), task);
    Trainer& t = trainers_[task.key];
    if (!core::has_process(task.state) || t.record == nullptr) continue;
    t.ref = task.process();
    t.alive = true;
  }
  // It was asked for before the journal begins.
  if (state_.wake_at != kNever) {
    later(state_.wake_at + r_.tick_late, Kind::kWake, 0, wake_generation_);
  }
  return {};
}

bool Life::next(Happening& out) {
  const Given* given = next_given_ < given_.size() ? &given_[next_given_] : nullptr;
  while (!future_.empty()) {
    const Happening top = future_.top();
    if (given != nullptr && given->at <= top.at) return false;
    // Nothing happens on a board whose agent is not there.
    if (given != nullptr && given->body && std::holds_alternative<core::Booted>(*given->body) &&
        top.at > given->down_since && given->down_since > 0) {
      return false;
    }
    future_.pop();
    out = top;
    return true;
  }
  return false;
}

// Whether every task that ended then has ended.
bool Life::over() const {
  if (next_given_ < given_.size()) return false;
  if (future_.empty() || future_.top().at > r_.to + kLongestMore) return true;
  // The calendar may still have work for a board that has none.
  if (future_.top().at <= r_.to) return false;
  return std::all_of(state_.live.begin(), state_.live.end(), [this](const core::Task& task) {
    const TaskId* id = names_.of(task.key);
    if (id != nullptr && later_runs_.count(*id) != 0) return true;
    const TaskEnd* was = id == nullptr ? nullptr : r_.was.find(*id);
    return was != nullptr && was->ended_at == 0;
  });
}

Result<Rerun> Life::run(const RerunEnd& end) {
  LAIRD_TRY(begin());
  bool readings_go_on = r_.reading_every > 0;
  while (!over()) {
    Happening happening;
    if (next(happening)) {
      happen(happening);
      continue;
    }
    if (next_given_ >= given_.size()) break;
    const Given given = given_[next_given_++];
    give(given);
    if (next_given_ == given_.size() && readings_go_on) {
      readings_go_on = false;
      later(std::max(now_, r_.to) + r_.reading_every, Kind::kReading, 0, 0);
    }
  }
  out_.tally = tallier_.finish(state_, names_);
  std::erase_if(out_.tally.tasks,
                [this](const TaskEnd& task) { return later_runs_.count(task.id) != 0; });
  if (energy_then_) out_.tally.energy_j = *energy_then_ - first_energy_j_;
  // A task that was not over then is compared as it stood at that moment.
  for (TaskEnd& task : out_.tally.tasks) {
    const TaskEnd* was = r_.was.find(task.id);
    if (was == nullptr || was->ended_at != 0 || task.ended_at <= r_.to) continue;
    task.outcome = core::Outcome::kNone;
    task.ended_at = 0;
  }
  out_.ended_at = state_.now;
  if (end) end(state_);
  return std::move(out_);
}

Result<Rerun> run_again(const Recording& recording, const Changes& changes, Beyond beyond,
                        const RerunWatch& watch, const RerunEnd& end) {
  return Life(recording, changes, beyond, watch).run(end);
}

}  // namespace laird::whatif
