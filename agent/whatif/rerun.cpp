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
// Timers of one moment go off this near to each other.
constexpr DurationNs kSameWake = 2 * kMillisecond;
// As an agent keeps of a peer between two ticks (agent/fleet/peer_inbox.hpp).
constexpr std::size_t kHeldPerPeerMax = 16;

}  // namespace

// The stall that holds this moment. Moments are asked for in the order of time.
const Stall* Life::stall_at(TimeNs at) {
  const std::vector<Stall>& stalls = r_.stalls;
  while (next_stall_ < stalls.size() && stalls[next_stall_].to <= at) ++next_stall_;
  if (next_stall_ == stalls.size() || at < stalls[next_stall_].from) return nullptr;
  return &stalls[next_stall_];
}

// The agent goes on, and hears what happened while it stood still.
void Life::go_on() {
  std::vector<core::EventBody> held;
  std::swap(held, held_);
  for (core::EventBody& body : held) apply(now_, std::move(body));
}

void Life::apply(TimeNs at, core::EventBody body) {
  now_ = std::max(at, state_.now);
  const Stall* stall = stall_at(now_);
  if (stall != nullptr && !std::holds_alternative<core::Booted>(body)) {
    if (held_.empty()) later(stall->to, Kind::kGoesOn, 0, 0);
    held_.push_back(std::move(body));
    return;
  }
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

// A timer of the core goes off. The agent tells the core then what it heard of its peers.
void Life::wake() {
  if (const Stall* stall = stall_at(now_)) {
    return later(stall->to, Kind::kWake, 0, wake_generation_);
  }
  // The recorded tick that is there at once is this one: what the fleet left the board comes with
  // it.
  if (tick_at() != kNever && tick_at() - now_ <= kSameWake) return;
  core::PeersHeard heard;
  std::erase_if(inbox_, [&](auto& entry) {
    if (entry.first > now_) return false;
    heard.messages.push_back(std::move(entry.second));
    return true;
  });
  if (heard.messages.empty()) {
    apply(now_, core::Ticked{});
  } else {
    apply(now_, std::move(heard));
  }
}

void Life::deliver(TimeNs at, core::PeerMessage message) {
  const auto of_peer = [&](const auto& entry) { return entry.second.from == message.from; };
  const auto held = std::count_if(inbox_.begin(), inbox_.end(), of_peer);
  if (static_cast<std::size_t>(held) >= kHeldPerPeerMax) {
    inbox_.erase(std::find_if(inbox_.begin(), inbox_.end(), of_peer));
  }
  const auto later = std::upper_bound(inbox_.begin(), inbox_.end(), at,
                                      [](TimeNs t, const auto& entry) { return t < entry.first; });
  inbox_.emplace(later, at, std::move(message));
}

void Life::happen(const Happening& h) {
  now_ = std::max(now_, h.at);
  if (h.kind == Kind::kWake) {
    if (h.generation == wake_generation_) wake();
    return;
  }
  if (h.kind == Kind::kGoesOn) return go_on();
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
    case Kind::kGoesOn:
    case Kind::kReading: return;
  }
}

void Life::boot(TimeNs at, core::Booted booted) {
  die();
  std::erase_if(inbox_, [at](const auto& entry) { return entry.first <= at; });
  core::FleetConfig fleet = std::move(booted.config.fleet);
  booted.config = changes_.changed(booted.config);
  if (place_ != nullptr) {
    booted.config.fleet = std::move(fleet);
    booted.config.fleet.budget = place_->change_budget(booted.config.fleet.budget, at);
    return apply(at, std::move(booted));
  }
  // The core takes the fleet's limits from a board that starts in no fleet, and would open what
  // holds it back. So the start itself has the limit as a cap of the board's config.
  const bool limited =
      next_given_ < given_.size() && !given_[next_given_].body && given_[next_given_].at == at;
  if (!limited) return apply(at, std::move(booted));
  const FleetLimits limits = changes_.changed(given_[next_given_].limits, at - r_.from);
  const std::optional<std::int64_t> cap_mw = booted.config.power.cap_mw;
  if (limits.cap_mw) {
    booted.config.power.cap_mw = std::min(cap_mw.value_or(*limits.cap_mw), *limits.cap_mw);
  }
  apply(at, std::move(booted));
  state_.config.power.cap_mw = cap_mw;
  set_limits(limits);
}

void Life::set_limits(const FleetLimits& limits) {
  state_.power.set_fleet_cap_mw(limits.cap_mw);
  state_.power.set_fleet_ceiling_ppm(core::LaneKind::kGpu, limits.ceiling_ppm[0]);
  state_.power.set_fleet_ceiling_ppm(core::LaneKind::kCpu, limits.ceiling_ppm[1]);
}

void Life::limit(TimeNs at, const FleetLimits& limits) {
  if (state_.policy == nullptr) return;
  set_limits(changes_.changed(limits, at - r_.from));
  // Of a board in a fleet a tick of this moment is recorded; a limit that a change brings has none.
  if (tick_at() != at) apply(at, core::Ticked{});
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
  submitting_ = true;
  std::vector<core::TaskSpec> more;
  for (const AddedTask& task : changes_.added) {
    if (task.like != spec.name || !task.board.empty()) continue;
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
  submitting_ = false;
}

void Life::command(TimeNs at, core::OperatorCommand command) {
  if (auto* budget = std::get_if<core::BudgetChanged>(&command.body)) {
    if (place_ == nullptr) return;
    budget->budget = place_->change_budget(budget->budget, at);
  }
  if (std::holds_alternative<core::CapRequested>(command.body) && !changes_.caps.empty()) return;
  if (const auto* submitted = std::get_if<core::Submitted>(&command.body)) {
    core::TaskSpec spec = submitted->spec;
    return submit(at, std::move(command), std::move(spec));
  }
  apply(at, std::move(command));
}

namespace {

// The task that somebody asks for, or asks something of; nullptr: none.
struct NameOfTask {
  const std::string* operator()(const core::Submitted& e) const { return &e.spec.name; }
  const std::string* operator()(const core::CancelRequested& e) const { return &e.task; }
  const std::string* operator()(const core::PauseRequested& e) const { return &e.task; }
  const std::string* operator()(const core::ResumeRequested& e) const { return &e.task; }
  const std::string* operator()(const core::EditRequested& e) const { return &e.task; }
  const std::string* operator()(const core::RemoveRequested& e) const { return &e.task; }
  const std::string* operator()(const core::OperatorCommand& e) const {
    return std::visit(*this, e.body);
  }
  template <class Other>
  const std::string* operator()(const Other&) const {
    return nullptr;
  }
};

}  // namespace

const std::string* task_named_by(const core::EventBody& body) {
  return std::visit(NameOfTask{}, body);
}

// What only the member of a fleet that runs again hears.
void Life::give_to_member(const Given& given) {
  if (place_ == nullptr || state_.policy == nullptr) return;
  const auto* changed = std::get_if<core::BudgetChanged>(&*given.body);
  if (changed != nullptr && !given.is_made) {
    return apply(given.at,
                 core::BudgetChanged{0, place_->change_budget(changed->budget, given.at)});
  }
  apply(given.at, *given.body);
}

void Life::give(const Given& given) {
  if (!given.body) {
    if (place_ == nullptr) limit(given.at, given.limits);
    return;
  }
  if (std::holds_alternative<core::BudgetChanged>(*given.body) ||
      std::holds_alternative<core::FleetJoined>(*given.body) ||
      std::holds_alternative<core::Displaced>(*given.body)) {
    return give_to_member(given);
  }
  const std::string* task = task_named_by(*given.body);
  if (place_ != nullptr && task != nullptr && place_->moved_away.count(*task) != 0) return;
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
  if (place_ != nullptr) given_.insert(given_.end(), place_->given.begin(), place_->given.end());
  for (const LimitFrom& cap : changes_.caps) {
    if (cap.after == 0) continue;
    Given given;
    given.at = r_.from + cap.after;
    given.body = core::CapRequested{0, cap.mw, 0};
    given_.push_back(std::move(given));
  }
  for (const LimitFrom& budget : changes_.budgets) {
    if (budget.after == 0 || place_ != nullptr) continue;
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
  add_given();
  readings_go_on_ = r_.reading_every > 0;
  if (!r_.first_state.empty()) {
    Result<core::State> first = core::decode_state(std::string_view(
        reinterpret_cast<const char*>(r_.first_state.data()), r_.first_state.size()));
    LAIRD_TRY(first);
    state_ = std::move(*first);
    if (place_ == nullptr) state_.fleet = core::Fleet{};
    // Titles do not run again, also where ledgers do: nothing moves.
    state_.fleet.titles.reset();
    for (core::Task& task : state_.live) task.moving = {};
    leave_out();
    rungs_ = static_cast<double>(core::other_rungs_permille(state_.power.governor)) * 1e-3;
  }
  names_.begin(state_);
  tallier_.begin(state_);
  first_energy_j_ = state_.meter.totals().board.joules();
  now_ = state_.now;
  for (core::Task& task : state_.live) {
    changes_.edit(task.spec);
    task.deadline_at = core::deadline_of(task.spec, task.accepted_at, state_.wall_minus_agent);
    meet(*names_.of(task.key), task);
    resume(task);
  }
  // It was asked for before the journal begins.
  if (state_.wake_at != kNever) {
    later(state_.wake_at + r_.tick_late, Kind::kWake, 0, wake_generation_);
  }
  return {};
}

// When the board looked at its shares next; kNever: it does so by its own ledger, or not any more.
TimeNs Life::tick_at() const {
  return place_ != nullptr || next_tick_ == r_.ticks.size() ? kNever : r_.ticks[next_tick_];
}

// Whether what was asked of the board comes before what follows from its decisions. Nothing happens
// on a board whose agent is not there.
bool Life::given_is_next() {
  if (next_given_ == given_.size()) return false;
  const Given& given = given_[next_given_];
  const TimeNs at = std::min(future_.empty() ? kNever : future_.top().at, tick_at());
  const bool boots = given.body && std::holds_alternative<core::Booted>(*given.body);
  return given.at <= at || (boots && given.down_since > 0 && at > given.down_since);
}

TimeNs Life::next_at() {
  TimeNs out = kNever;
  if (given_is_next()) {
    out = given_[next_given_].at;
  } else if (!future_.empty() && future_.top().at <= r_.to + kLongestMore) {
    out = future_.top().at;
  }
  out = std::min(out, tick_at());
  return place_ != nullptr && out > place_->ends_at ? kNever : out;
}

void Life::do_next() {
  if (!given_is_next()) {
    if (tick_at() != kNever && (future_.empty() || tick_at() <= future_.top().at)) {
      const TimeNs at = r_.ticks[next_tick_++];
      if (state_.policy != nullptr) apply(at, core::Ticked{});
      return;
    }
    const Happening happening = future_.top();
    future_.pop();
    return happen(happening);
  }
  const Given given = given_[next_given_++];
  give(given);
  if (next_given_ == given_.size() && readings_go_on_) {
    readings_go_on_ = false;
    later(std::max(now_, r_.to) + r_.reading_every, Kind::kReading, 0, 0);
  }
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

Rerun Life::finish(const RerunEnd& end) {
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
  Life life(recording, changes, beyond, watch);
  const Recording* const boards[] = {&recording};
  LAIRD_TRY(changes.fit(boards));
  LAIRD_TRY(life.begin());
  while (!life.over() && life.next_at() != kNever) life.do_next();
  return life.finish(end);
}

}  // namespace laird::whatif
