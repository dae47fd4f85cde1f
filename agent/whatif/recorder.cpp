#include "agent/whatif/recorder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace laird::whatif {
namespace {

constexpr std::size_t kDelaysKept = 4096;
// A timer that is later than this was not late by the machine's own grain.
constexpr DurationNs kStallMin = 250 * kMillisecond;
constexpr std::size_t kStallsKept = 100'000;
constexpr std::size_t kTicksKept = 20'000'000;
// Of a board: a month of messages to and from four neighbours, once a second.
constexpr std::size_t kMessagesKept = 12'000'000;
// The board file's lane powers count as much as so many readings.
constexpr double kPriorReadings = 2.0;

template <class T>
[[nodiscard]] T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Every second point goes; the last one stays.
template <class T>
void halve(std::vector<T>& points) {
  std::size_t kept = 0;
  for (std::size_t i = 1 - points.size() % 2; i < points.size(); i += 2) points[kept++] = points[i];
  points.resize(kept);
}

// Whether the event did not follow from what the core had asked for.
[[nodiscard]] bool is_given(const core::EventBody& body) {
  return std::holds_alternative<core::Booted>(body) ||
         std::holds_alternative<core::ClockStepped>(body) ||
         std::holds_alternative<core::Submitted>(body) ||
         std::holds_alternative<core::CancelRequested>(body) ||
         std::holds_alternative<core::PauseRequested>(body) ||
         std::holds_alternative<core::ResumeRequested>(body) ||
         std::holds_alternative<core::PowerSampled>(body) ||
         std::holds_alternative<core::ShutdownRequested>(body) ||
         std::holds_alternative<core::CapRequested>(body) ||
         std::holds_alternative<core::DrainRequested>(body) ||
         std::holds_alternative<core::OperatorCommand>(body) ||
         std::holds_alternative<core::EditRequested>(body) ||
         std::holds_alternative<core::RemoveRequested>(body) ||
         std::holds_alternative<core::MoveRequested>(body) ||
         std::holds_alternative<core::RunsHeard>(body) ||
         std::holds_alternative<core::FleetJoined>(body) ||
         std::holds_alternative<core::BudgetChanged>(body) ||
         std::holds_alternative<core::Displaced>(body);
}

[[nodiscard]] std::uint32_t digest_of(std::string_view bytes) {
  Archive ar = Archive::hasher();
  ar.raw(bytes);
  const std::uint64_t digest = ar.digest();
  return static_cast<std::uint32_t>(digest ^ (digest >> 32U));
}

// Solves the normal equations by elimination; false: they say nothing about one of the unknowns.
[[nodiscard]] bool solve(std::array<std::array<double, 4>, 3> m, std::array<double, 3>& out) {
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < 3; ++r) {
      if (std::fabs(m[r][i]) > std::fabs(m[pivot][i])) pivot = r;
    }
    if (std::fabs(m[pivot][i]) < 1e-9) return false;
    std::swap(m[i], m[pivot]);
    for (std::size_t r = 0; r < 3; ++r) {
      if (r == i) continue;
      const double factor = m[r][i] / m[i][i];
      for (std::size_t c = i; c < 4; ++c) m[r][c] -= factor * m[i][c];
    }
  }
  for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][3] / m[i][i];
  return true;
}

}  // namespace

void Recorder::begin(core::State& state) {
  begun_ = true;
  if (state.policy != nullptr) out_.first_state = core::encode(state);
  names_.begin(state);
  tallier_.begin(state);
  see_recurring(state);
  lanes_.see(state);
  lanes_.advance(state.now);
  newest_ended_ = state.ended.empty() ? 0 : state.ended.back()->key;
  wake_at_ = state.wake_at;
  now_ = state.now;
  listened_at_ = now_;
  rungs_ = static_cast<double>(core::other_rungs_permille(state.power.governor)) * 1e-3;
  for (const core::Task& task : state.live) {
    meet(*names_.of(task.key), task);
    Process& p = processes_[task.key];
    p.record->work.push_back({task.samples, 0.0});
    if (core::has_process(task.state)) find_at_work(task, p);
  }
}

// A trainer that is there when the recording begins. What it was told before, it answers as if it
// had been told when its task came into this state: the rerun counts from there too.
void Recorder::find_at_work(const core::Task& task, Process& p) {
  p.attempt = task.attempt;
  p.ready = task.state != core::TaskState::kStarting;
  p.start_at = task.state_since;
  p.working = is_at_work(task.state);
  p.until = task.grant_until;
  p.begun = task.grant_from;
  p.share = static_cast<double>(task.share_ppm) / static_cast<double>(core::kShareWholePpm);
  p.speed = p.share * rungs_;
  p.mark_at = now_;
  if (task.state == core::TaskState::kPreempting) p.pause_at = task.state_since;
  if (task.checkpoint_asked) p.checkpoint_at = now_;
  if (!was_told_to_go(task.state)) return;
  p.leaving = true;
  p.stop_at = task.state_since;
}

void Recorder::meet(const TaskId& id, const core::Task& task) {
  TaskRecord& record = out_.tasks[id];
  record.id = id;
  record.spec = task.spec;
  record.planned_samples = task.planned_samples;
  Process& process = processes_[task.key];
  process.record = &record;
  process.samples = task.samples;
  process.saved = task.checkpoint_samples;
}

Recorder::Process* Recorder::find(const core::ProcessRef& ref) {
  const auto found = processes_.find(ref.key);
  if (found == processes_.end() || found->second.attempt != ref.attempt) return nullptr;
  return &found->second;
}

void Recorder::count_work(Process& p) {
  if (!p.working) return;
  if (p.empty_grant) {
    p.mark_at = now_;  // there was nothing to do
    return;
  }
  p.since_report += static_cast<double>(now_ - p.mark_at) * p.speed;
  p.mark_at = now_;
}

void Recorder::crash(Process& p, core::EventBody end, bool hung) {
  count_work(p);
  CrashRecord crash;
  crash.samples = p.samples;
  crash.work_ns = p.since_report;
  crash.idle_at = p.working ? 0 : now_;
  crash.hung = hung;
  crash.end = std::move(end);
  p.record->crashes.push_back(std::move(crash));
  p.crashed = true;
  p.working = false;
}

void Recorder::on_ready(Process& p, const core::TrainerReady& e) {
  const auto off = static_cast<std::int64_t>(e.samples) - static_cast<std::int64_t>(p.saved);
  p.record->starts[p.attempt] = {now_ - p.start_at, true, {}, off};
  p.ready = true;
  p.saved = e.samples;
  p.samples = e.samples;
  p.since_report = 0.0;
  if (p.record->planned_samples == 0) p.record->planned_samples = e.planned_samples;
  if (p.record->work.empty()) p.record->work.push_back({e.samples, 0.0});
}

// It is known to have come so far, with the work since it was last known.
void Recorder::advance(Process& p, std::uint64_t samples) {
  if (samples <= p.samples) return;
  std::vector<WorkPoint>& work = p.record->work;
  if (p.since_report > 0.0 && !work.empty() && samples > work.back().samples) {
    // What was learned again after a crash is known already.
    const std::uint64_t from = std::max(p.samples, work.back().samples);
    const double part =
        static_cast<double>(samples - from) / static_cast<double>(samples - p.samples);
    work.push_back({samples, work.back().work_ns + part * p.since_report});
    if (work.size() > kPointsMax) halve(work);
  }
  p.since_report = 0.0;
  p.samples = samples;
}

void Recorder::on_report(Process& p, const core::TrainerProgressed& e) {
  if (!p.ready || e.samples < p.samples || !std::isfinite(e.loss)) return;
  TaskRecord& record = *p.record;
  count_work(p);
  const bool regular = p.working && e.samples < p.until && p.pause_at == 0;
  std::vector<CurvePoint>& curve = record.curve;
  if (curve.empty() || e.samples > curve.back().samples) {
    const bool ends = p.working && e.samples >= p.until && p.pause_at == 0;
    curve.push_back({e.samples, e.loss, regular, ends ? p.begun : kNoGrant});
    if (curve.size() > kPointsMax) halve(curve);
  } else {
    const auto at = std::lower_bound(
        curve.begin(), curve.end(), e.samples,
        [](const CurvePoint& point, std::uint64_t s) { return point.samples < s; });
    if (at->samples == e.samples) {
      at->loss = e.loss;
      at->regular = at->regular || regular;
    }
  }
  if (p.pause_at != 0 && e.samples > p.samples) p.pause_reported = true;
  if (p.empty_grant) ++empty_grants_with_report_;
  p.empty_grant = false;
  advance(p, e.samples);
  if (e.samples >= p.until) p.working = false;
}

void Recorder::on_checkpoint(Process& p, const core::TrainerCheckpointed& e) {
  count_work(p);
  if (p.pause_at != 0) {
    if (p.pause_reported) {
      ++pauses_with_report_;
    } else if (e.samples > p.samples) {
      ++pauses_without_;
    }
    p.pause_reported = false;
    if (p.empty_grant) ++empty_grants_without_;
    p.empty_grant = false;
    if (p.record->pauses.size() < kDelaysKept) p.record->pauses.push_back(now_ - p.pause_at);
    p.pause_at = 0;
    p.working = false;
  } else if (p.checkpoint_at != 0 && p.record->checkpoints.size() < kDelaysKept) {
    p.record->checkpoints.push_back(now_ - p.checkpoint_at);
  }
  p.checkpoint_at = 0;
  p.saved = e.samples;
  advance(p, e.samples);
}

// What trainers said.
void Recorder::hear(const core::EventBody& body) {
  if (const auto* ready = std::get_if<core::TrainerReady>(&body)) {
    if (Process* p = find(*ready)) on_ready(*p, *ready);
  } else if (const auto* report = std::get_if<core::TrainerProgressed>(&body)) {
    if (Process* p = find(*report)) on_report(*p, *report);
  } else if (const auto* saved = std::get_if<core::TrainerCheckpointed>(&body)) {
    if (Process* p = find(*saved)) on_checkpoint(*p, *saved);
  } else if (const auto* done = std::get_if<core::TrainerDone>(&body)) {
    Process* p = find(*done);
    if (p != nullptr && p->ready && !p->leaving) p->record->done_at = p->samples;
  } else if (const auto* promoted = std::get_if<core::TrainerPromoted>(&body)) {
    Process* p = find(*promoted);
    if (p == nullptr) return;
    p->record->promoted = *promoted;
    p->record->promoted_after = now_ - p->mark_at;
  } else if (const auto* yielded = std::get_if<core::TrainerYielded>(&body)) {
    Process* p = find(*yielded);
    if (p == nullptr || !p->working) return;
    p->record->yields.push_back({p->samples, now_ - p->mark_at, yielded->for_ns});
    p->working = false;
  } else if (const auto* failed = std::get_if<core::TrainerFailed>(&body)) {
    Process* p = find(*failed);
    if (p == nullptr || p->leaving) return;
    if (p->ready) return crash(*p, body, false);
    p->record->starts[p->attempt] = {now_ - p->start_at, false, body, 0};
    p->crashed = true;
  } else if (const auto* exited = std::get_if<core::TrainerExited>(&body)) {
    Process* p = find(*exited);
    if (p == nullptr) return;
    if (p->leaving) {
      if (p->stop_at != 0) p->record->stops[p->attempt] = now_ - p->stop_at;
      p->stop_at = 0;
    } else if (p->ready) {
      crash(*p, body, false);
    } else {
      p->record->starts[p->attempt] = {now_ - p->start_at, false, body, 0};
      p->crashed = true;
    }
  }
}

// Of a trainer that said nothing for too long.
void Recorder::see_kill(Process& p) {
  if (p.crashed || p.leaving) return;
  if (!p.ready) {
    p.record->starts[p.attempt] = {kNever, false, {}, 0};
  } else {
    crash(p, core::Ticked{}, true);
  }
}

void Recorder::see_effect(const core::Effect& effect, const core::State& state) {
  if (const auto* start = std::get_if<core::StartTrainer>(&effect.body)) {
    Process& p = processes_[start->key];
    p = Process{.record = p.record, .saved = p.saved};
    p.attempt = start->attempt;
    p.start_at = now_;
  } else if (const auto* run = std::get_if<core::RunTrainer>(&effect.body)) {
    Process* p = find(*run);
    const core::Task* task = state.find_live(run->key);
    if (p == nullptr || task == nullptr) return;
    p->working = true;
    p->mark_at = now_;
    p->until = run->until;
    p->begun = p->samples;
    p->empty_grant = run->until <= p->samples;
    p->share = static_cast<double>(task->share_ppm) / static_cast<double>(core::kShareWholePpm);
    p->speed = p->share * rungs_;
  } else if (const auto* pause = std::get_if<core::PreemptTrainer>(&effect.body)) {
    if (Process* p = find(*pause)) p->pause_at = now_;
  } else if (const auto* save = std::get_if<core::CheckpointTrainer>(&effect.body)) {
    if (Process* p = find(*save)) p->checkpoint_at = now_;
  } else if (const auto* stop = std::get_if<core::StopTrainer>(&effect.body)) {
    if (Process* p = find(*stop)) {
      count_work(*p);
      p->stop_at = now_;
      p->leaving = true;
      p->working = false;
    }
  } else if (const auto* kill = std::get_if<core::KillTrainer>(&effect.body)) {
    if (Process* p = find(*kill)) see_kill(*p);
  }
}

void Recorder::see_rungs(const core::State& state) {
  const double rungs = static_cast<double>(core::other_rungs_permille(state.power.governor)) * 1e-3;
  if (rungs == rungs_) return;
  rungs_ = rungs;
  for (auto& [key, p] : processes_) {
    count_work(p);
    p.speed = p.share * rungs_;
  }
}

void Recorder::see_limits(const core::State& state) {
  const core::Fleet& fleet = state.fleet;
  FleetLimits limits;
  if (fleet.member()) {
    limits.cap_mw = state.power.fleet_cap_mw;
    limits.ceiling_ppm = {state.power.fleet_ceiling_ppm[core::LaneKind::kGpu],
                          state.power.fleet_ceiling_ppm[core::LaneKind::kCpu]};
    const TimeNs wall = state.now + state.wall_minus_agent;
    const core::FleetMember* self = fleet.budget.member(state.config.node);
    limits.floor_mw = self == nullptr ? 0 : self->floor[core::Resource::kPower];
    limits.divided_mw = fleet.budget.divided_at(core::Resource::kPower, wall);
    for (const core::FleetMember& member : fleet.budget.members) {
      limits.floors_mw += member.floor[core::Resource::kPower];
    }
  }
  if (fleet.member() && (is_tick_ || limits != limits_) && out_.ticks.size() < kTicksKept) {
    out_.ticks.push_back(now_);
  }
  if (limits == limits_) return;
  limits_ = limits;
  Given given;
  given.at = now_;
  given.limits = limits;
  out_.given.push_back(std::move(given));
}

void Recorder::see_stall(const core::Event& event) {
  if (std::holds_alternative<core::Booted>(event.body) || wake_at_ == kNever) return;
  if (event.at - wake_at_ < kStallMin || out_.stalls.size() == kStallsKept) return;
  out_.stalls.push_back({std::max(wake_at_, now_), event.at});
}

// The agent listens when a timer of its core goes off, and tells the core what it heard.
void Recorder::see_messages(const core::Event& event, const core::Effects& effects) {
  if (const auto* heard = std::get_if<core::PeersHeard>(&event.body)) {
    for (const core::PeerMessage& message : heard->messages) {
      keep_message(out_.heard, message.from, message.bytes, now_ - listened_at_);
    }
    listened_at_ = now_;
  } else if (std::holds_alternative<core::Ticked>(event.body)) {
    listened_at_ = now_;
  }
  for (const core::Effect& effect : effects) {
    const auto* send = std::get_if<core::SendToPeer>(&effect.body);
    if (send != nullptr) keep_message(out_.sent, send->to, send->bytes, 0);
  }
}

void Recorder::keep_message(std::vector<LedgerMessage>& messages, const std::string& peer,
                            std::string_view bytes, DurationNs listened) {
  if (messages.size() == kMessagesKept) return;
  const auto [known, added] =
      peer_numbers_.emplace(peer, static_cast<std::uint16_t>(out_.peers.size()));
  if (added) out_.peers.push_back(peer);
  messages.push_back(
      {now_, digest_of(bytes), known->second,
       static_cast<std::uint16_t>(std::clamp<DurationNs>(listened / kMillisecond, 0, UINT16_MAX))});
}

void Recorder::see_reading(const power::PowerReading& reading) {
  if (!reading.total_mw) return;
  if (read_at_ != 0 && between_readings_.size() < kDelaysKept) {
    between_readings_.push_back(now_ - read_at_);
  }
  read_at_ = now_;
  const std::array<double, 2> use = lanes_.use();
  const std::array<double, 4> row = {1.0, use[0], use[1], static_cast<double>(*reading.total_mw)};
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t c = 0; c < 4; ++c) fit_[r][c] += row[r] * row[c];
  }
}

// A key is given to each that is accepted.
void Recorder::see_recurring(const core::State& state) {
  if (state.next_key == next_key_) return;
  next_key_ = state.next_key;
  for (const core::Recurring& r : state.recurring) out_.recurring[r.spec.name] = r.spec;
}

void Recorder::see_given(const core::Event& event) {
  if (!is_given(event.body)) return;
  Given given;
  given.at = event.at;
  given.body = event.body;
  if (std::holds_alternative<core::Booted>(event.body)) given.down_since = out_.to;
  given.use = lanes_.use();
  out_.given.push_back(std::move(given));
}

void Recorder::keep(const core::Task& task) {
  const TaskId* id = names_.of(task.key);
  if (id == nullptr) return;
  TaskRecord& record = out_.tasks[*id];
  record.forecast = task.forecast;
  record.rate = task.rate;
  if (record.planned_samples == 0) record.planned_samples = task.planned_samples;
}

void Recorder::see_ended(const core::State& state) {
  if (state.ended.empty() || state.ended.back()->key == newest_ended_) return;
  for (auto ended = state.ended.rbegin(); ended != state.ended.rend(); ++ended) {
    const core::Task& task = *ended;
    if (task.key == newest_ended_) break;
    keep(task);
    processes_.erase(task.key);
  }
  newest_ended_ = state.ended.back()->key;
}

void Recorder::see(const core::Event& event, const core::State& state,
                   const core::Effects& effects) {
  if (!begun_) return;
  see_stall(event);
  now_ = event.at;
  if (out_.from == 0) out_.from = now_;
  if (out_.clock.empty() || std::holds_alternative<core::Booted>(event.body)) {
    out_.clock.push_back({now_, 0});
  }
  out_.clock.back().wall_minus_agent = state.wall_minus_agent;
  lanes_.advance(now_);
  if (std::holds_alternative<core::Ticked>(event.body) && wake_at_ <= now_ &&
      late_.size() < kDelaysKept) {
    late_.push_back(now_ - wake_at_);
  }
  names_.see(state, [this](const TaskId& id, const core::Task& task) { meet(id, task); });
  for (auto& [key, p] : processes_) p.crashed = false;
  if (std::holds_alternative<core::Booted>(event.body)) {
    for (auto& [key, p] : processes_) p = Process{.record = p.record, .saved = p.saved};
  }
  see_recurring(state);
  see_given(event);
  // A start takes what the fleet left the board from a core that is in no fleet: it comes again.
  if (std::holds_alternative<core::Booted>(event.body)) limits_ = FleetLimits{};
  is_tick_ = std::holds_alternative<core::Ticked>(event.body) ||
             std::holds_alternative<core::PeersHeard>(event.body);
  see_limits(state);
  if (with_messages_) see_messages(event, effects);
  if (const auto* power = std::get_if<core::PowerSampled>(&event.body)) see_reading(power->reading);
  hear(event.body);
  see_rungs(state);
  for (const core::Effect& effect : effects) see_effect(effect, state);
  lanes_.see(state);
  tallier_.see(state, names_);
  see_ended(state);
  wake_at_ = state.wake_at;
  out_.to = now_;
}

// The board's power at rest and with each kind of lane in full use, by least squares over its
// readings; what was never seen to change stays with what the core believes of it.
void Recorder::fit_power(const core::State& state) {
  const power::LaneWeights& weights = state.power.weights;
  const std::array<double, 2> prior = {static_cast<double>(weights.gpu_mw()),
                                       static_cast<double>(weights.cpu_mw())};
  auto m = fit_;
  for (std::size_t k = 0; k < 2; ++k) {
    m[k + 1][k + 1] += kPriorReadings;
    m[k + 1][3] += kPriorReadings * prior[k];
  }
  std::array<double, 3> found{};
  if (!solve(m, found)) return;
  out_.base_mw = std::max(0.0, found[0]);
  out_.lane_mw = {std::max(0.0, found[1]), std::max(0.0, found[2])};
}

Recording Recorder::finish(const core::State& state) {
  for (const core::Task& task : state.live) keep(task);
  out_.was = tallier_.finish(state, names_);
  out_.node = state.config.node;
  out_.wall_minus_agent = state.wall_minus_agent;
  out_.tick_late = median(late_);
  out_.reading_every = median(between_readings_);
  out_.empty_grants_report = empty_grants_with_report_ >= empty_grants_without_;
  fit_power(state);
  out_.budget = state.fleet.budget;
  out_.shut_down = state.exit_sent;
  out_.pauses_report = pauses_with_report_ > pauses_without_;
  for (auto& [id, record] : out_.tasks) record.finish();
  return std::move(out_);
}

}  // namespace laird::whatif
