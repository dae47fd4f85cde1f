// How trainers work, as they were recorded to (recording.hpp), and what they are told.
#include <algorithm>
#include <cmath>

#include "agent/core/step/gate.hpp"
#include "agent/whatif/life.hpp"

namespace laird::whatif {
namespace {

// A task that nobody ever saw report is taken to report so often.
constexpr DurationNs kUnknownReport = kSecond;
// A task got further than it did when it is further by a report and by this part of the way.
constexpr std::uint64_t kSlackPart = 100;
constexpr DurationNs kKnobTakes = 10 * kMillisecond;
constexpr DurationNs kKillTakes = kMillisecond;

[[nodiscard]] DurationNs mean(const std::vector<DurationNs>& values) {
  if (values.empty()) return 0;
  double sum = 0.0;
  for (const DurationNs v : values) sum += static_cast<double>(v);
  return static_cast<DurationNs>(sum / static_cast<double>(values.size()));
}

}  // namespace

namespace {

[[nodiscard]] bool ended_a_grant(const TaskRecord& record, std::uint64_t begun,
                                 std::uint64_t samples) {
  const auto point =
      std::lower_bound(record.curve.begin(), record.curve.end(), samples,
                       [](const CurvePoint& p, std::uint64_t s) { return p.samples < s; });
  return point != record.curve.end() && point->samples == samples && point->grant_from == begun;
}

}  // namespace

const TaskRecord* Life::record_of(const TaskId& id) const {
  const auto added = added_.find(id);
  if (added != added_.end()) return &added->second;
  if (place_ != nullptr) {
    const auto moved = place_->moved_here.find(id);
    if (moved != place_->moved_here.end()) return moved->second;
  }
  const auto found = r_.tasks.find(id);
  return found == r_.tasks.end() ? nullptr : &found->second;
}

// The longest recorded run of the same recurring task; nullptr: there is none, or it is no run.
const TaskRecord* Life::another_run(const core::TaskSpec& spec) const {
  if (spec.run_of.empty() || !spec.promotes.empty()) return nullptr;
  const TaskRecord* longest = nullptr;
  for (const auto& [id, record] : r_.tasks) {
    if (record.spec.run_of != spec.run_of || !record.spec.promotes.empty()) continue;
    if (longest == nullptr || record.samples_known() > longest->samples_known()) longest = &record;
  }
  return longest;
}

void Life::meet(const TaskId& id, const core::Task& task) {
  Trainer& t = trainers_[task.key];
  t.record = record_of(id);
  if (t.record == nullptr) {
    t.record = another_run(task.spec);
    t.is_of_another = t.record != nullptr;
  }
  t.samples = task.samples;
  t.reported = task.samples;
  t.saved = task.checkpoint_samples;
  const bool is_run = !task.spec.run_of.empty();
  if (is_run && task.accepted_at > r_.to && r_.was.find(id) == nullptr) later_runs_.insert(id);
  expect_idle_crashes(task.key, t);
}

void Life::expect_idle_crashes(core::TaskKey key, const Trainer& t) {
  // They came at moments of the recorded run.
  if (t.record == nullptr || t.is_of_another) return;
  for (const CrashRecord& crash : t.record->crashes) {
    if (crash.idle_at > now_) later(crash.idle_at, Kind::kIdleCrash, key, 0);
  }
}

Life::Trainer* Life::find(const core::ProcessRef& ref) {
  const auto found = trainers_.find(ref.key);
  if (found == trainers_.end() || !found->second.alive) return nullptr;
  return found->second.ref.attempt == ref.attempt ? &found->second : nullptr;
}

void Life::later(TimeNs at, Kind kind, core::TaskKey task, std::uint64_t generation,
                 std::int32_t value) {
  future_.push({std::max(at, now_), ++order_, generation, task, kind, value});
}

double Life::work_at(const TaskRecord& record, double samples) const {
  const double work = record.work_at(samples);
  if (record.work.size() >= 2 || record.rate > 0.0) return work;
  return work + samples /
                    static_cast<double>(std::max<std::uint64_t>(1, record.spec.report_every)) *
                    static_cast<double>(kUnknownReport);
}

double Life::work_now(const Trainer& t) const {
  return t.working ? t.work_from + static_cast<double>(now_ - t.since) * t.speed : t.work_from;
}

std::uint64_t Life::samples_now(const Trainer& t) const {
  if (!t.working || t.record->work.size() < 2) return t.samples;
  const double samples = t.record->samples_at(work_now(t));
  return std::clamp(static_cast<std::uint64_t>(samples), t.samples, std::max(t.samples, t.until));
}

// The work that the trainer has before it says done.
std::uint64_t Life::end_of(const Trainer& t) const {
  if (t.record->done_at) return *t.record->done_at;
  const std::uint64_t planned = t.record->planned_samples;
  return planned > t.record->samples_known() ? planned : core::kSamplesMax;
}

// Reports come where they came then; beyond, and where none came, as often as they usually did.
std::uint64_t Life::next_report(const Trainer& t) const {
  const std::uint64_t end = std::min(t.until, std::max(end_of(t), t.samples + 1));
  const std::uint64_t spacing = t.record->spacing();
  const std::vector<CurvePoint>& curve = t.record->curve;
  auto point = std::upper_bound(curve.begin(), curve.end(), t.samples,
                                [](std::uint64_t s, const CurvePoint& p) { return s < p.samples; });
  while (point != curve.end() && !point->regular && point->samples < t.samples + 2 * spacing) {
    // The same grant, which a core in its fleet ended sooner: no slice lasts beyond the fence.
    if (point->grant_from == t.begun && point->samples <= end) return point->samples;
    ++point;
  }
  std::uint64_t next = std::max(std::max(t.reported, t.begun) + spacing, t.samples + 1);
  // A trainer that wrote a checkpoint on the way may count its next report from there.
  if (point != curve.end() && point->regular && point->samples < next + spacing) {
    next = point->samples;
  }
  // What it was granted may be less than it has done: a pause came without a report.
  return std::max(std::min(next, end), t.samples);
}

double Life::loss_at(const Trainer& t, std::uint64_t samples) {
  const TaskRecord& record = *t.record;
  if (const std::optional<double> known = record.loss_at(samples)) return *known;
  const std::uint64_t slack = std::max(record.spacing(), record.samples_known() / kSlackPart);
  if (samples > record.samples_known() + slack) out_.beyond.insert(*names_.of(t.ref.key));
  const auto forecast = record.forecast.loss_at(static_cast<double>(samples),
                                                static_cast<double>(record.planned_samples));
  if (!forecast) {
    // Nothing is known of how it learns: it is not taken to succeed.
    return record.spec.target_loss + std::max(1.0, std::fabs(record.spec.target_loss));
  }
  switch (beyond_) {
    case Beyond::kMedian: return forecast->loss;
    case Beyond::kLow: return forecast->low;
    case Beyond::kHigh: return forecast->high;
  }
  return forecast->loss;
}

void Life::work(Trainer& t, const core::RunTrainer& run) {
  const core::Task* task = state_.find_live(run.key);
  t.share = static_cast<double>(task->share_ppm) / static_cast<double>(core::kShareWholePpm);
  t.speed = t.share * rungs_ * changes_.speed;
  t.until = run.until;
  t.begun = t.samples;
  t.working = true;
  t.work_from = work_at(*t.record, static_cast<double>(t.samples));
  t.since = now_;
  plan(t);
}

// The next thing that a trainer at work will say.
void Life::plan(Trainer& t) {
  ++t.generation;
  const core::TaskKey key = t.ref.key;
  if (t.speed <= 0.0) return;
  if (t.until <= t.samples && !r_.empty_grants_report) return;
  if (t.record->promoted) {
    later(now_ + t.record->promoted_after, Kind::kPromoted, key, t.generation);
    return;
  }
  const std::vector<YieldRecord>& yields = t.record->yields;
  while (t.yields < yields.size() && yields[t.yields].samples < t.samples) ++t.yields;
  if (t.yields < yields.size() && yields[t.yields].samples == t.samples) {
    later(now_ + yields[t.yields].after, Kind::kYield, key, t.generation);
    return;
  }
  t.next = next_report(t);
  const double target = work_at(*t.record, static_cast<double>(t.next));
  const std::vector<CrashRecord>& crashes = t.record->crashes;
  while (t.crashes < crashes.size() && crashes[t.crashes].idle_at != 0) ++t.crashes;
  double goal = target;
  Kind kind = Kind::kReport;
  if (t.crashes < crashes.size()) {
    const CrashRecord& crash = crashes[t.crashes];
    const double at = work_at(*t.record, static_cast<double>(crash.samples)) + crash.work_ns;
    if (at < target) {
      goal = std::max(at, t.work_from);
      kind = Kind::kCrash;
    }
  }
  const double ns = std::max(0.0, (goal - t.work_from) / t.speed);
  if (ns > static_cast<double>(kLongestMore)) return;
  later(t.since + std::llround(ns), kind, key, t.generation);
}

void Life::stop_work(Trainer& t) {
  t.work_from = work_now(t);
  t.working = false;
  ++t.generation;
}

// Clocks, quotas and the freezer work on what is in progress.
void Life::change_speed() {
  const double rungs =
      static_cast<double>(core::other_rungs_permille(state_.power.governor)) * 1e-3;
  if (rungs == rungs_) return;
  rungs_ = rungs;
  for (auto& [key, t] : trainers_) {
    if (!t.working) continue;
    t.work_from = work_now(t);
    t.since = now_;
    t.speed = t.share * rungs_ * changes_.speed;
    plan(t);
  }
}

void Life::report(Trainer& t, std::uint64_t samples) {
  t.samples = samples;
  t.reported = samples;
  apply(now_, core::TrainerProgressed{t.ref, samples, loss_at(t, samples)});
}

void Life::on_report(core::TaskKey key, Trainer& t) {
  const std::uint64_t samples = t.next;
  const core::ProcessRef ref = t.ref;
  const bool done = samples >= end_of(t);
  t.work_from = work_at(*t.record, static_cast<double>(samples));
  t.since = now_;
  t.samples = samples;
  t.reported = samples;
  if (samples >= t.until || done) {
    t.working = false;
    ++t.generation;
  } else {
    if (ended_a_grant(*t.record, t.begun, samples)) t.begun = samples;
    plan(t);
  }
  report(t, samples);
  if (done && find(ref) != nullptr && state_.find_live(key) != nullptr) {
    apply(now_, core::TrainerDone{ref});
  }
}

void Life::on_crash(Trainer& t) {
  const CrashRecord& crash = t.record->crashes[t.crashes++];
  stop_work(t);
  if (crash.hung) return;  // it goes silent
  const core::ProcessRef ref = t.ref;
  t.alive = false;
  ++t.process;
  if (const auto* failed = std::get_if<core::TrainerFailed>(&crash.end)) {
    apply(now_, core::TrainerFailed{ref, failed->why});
  } else if (const auto* exited = std::get_if<core::TrainerExited>(&crash.end)) {
    apply(now_, core::TrainerExited{ref, exited->exit_code});
  }
}

void Life::on_idle_crash(const Happening& h) {
  Trainer& t = trainers_[h.task];
  if (!t.alive || t.working) return;
  const auto crash =
      std::find_if(t.record->crashes.begin(), t.record->crashes.end(),
                   [&](const CrashRecord& c) { return c.idle_at == h.at && !c.hung; });
  const core::Task* task = state_.find_live(h.task);
  if (crash == t.record->crashes.end() || task == nullptr) return;
  if (task->state == core::TaskState::kStarting) return;
  t.alive = false;
  ++t.process;
  if (const auto* failed = std::get_if<core::TrainerFailed>(&crash->end)) {
    apply(now_, core::TrainerFailed{t.ref, failed->why});
  } else if (const auto* exited = std::get_if<core::TrainerExited>(&crash->end)) {
    apply(now_, core::TrainerExited{t.ref, exited->exit_code});
  }
}

// Says how far it has come, then that it has paused.
void Life::on_paused(Trainer& t) {
  const core::ProcessRef ref = t.ref;
  if (t.working) {
    const std::uint64_t samples = samples_now(t);
    stop_work(t);
    if (samples > t.reported && r_.pauses_report) report(t, samples);
    t.samples = samples;
  }
  if (find(ref) == nullptr) return;
  t.saved = t.samples;
  apply(now_, core::TrainerCheckpointed{ref, t.samples});
}

void Life::start(const core::StartTrainer& start, TimeNs told_at) {
  Trainer& t = trainers_[start.key];
  t.ref = start;
  t.alive = true;
  t.working = false;
  t.samples = t.saved;
  t.reported = std::min(t.reported, t.saved);
  ++t.process;
  ++t.generation;
  if (t.record == nullptr) return;  // never ready: nothing is known of it
  const auto found = t.record->starts.find(start.attempt);
  if (found != t.record->starts.end()) {
    if (found->second.took == kNever) return;
    const auto off = static_cast<std::int64_t>(t.saved) + found->second.samples_off;
    t.samples = static_cast<std::uint64_t>(std::max<std::int64_t>(0, off));
    later(told_at + found->second.took, found->second.ready ? Kind::kReady : Kind::kStartFails,
          start.key, t.process, static_cast<std::int32_t>(start.attempt));
    return;
  }
  std::vector<DurationNs> took;
  for (const auto& [attempt, record] : t.record->starts) {
    if (record.ready) took.push_back(record.took);
  }
  later(told_at + mean(took), Kind::kReady, start.key, t.process);
}

// A trainer that was there when the recording began goes on with what it was told.
void Life::resume(const core::Task& task) {
  Trainer& t = trainers_[task.key];
  if (!core::has_process(task.state) || t.record == nullptr) return;
  t.ref = task.process();
  t.alive = true;
  if (task.state == core::TaskState::kStarting) {
    start(core::StartTrainer{t.ref}, task.state_since);
    return;
  }
  if (is_at_work(task.state)) {
    t.share = static_cast<double>(task.share_ppm) / static_cast<double>(core::kShareWholePpm);
    t.speed = t.share * rungs_ * changes_.speed;
    t.until = task.grant_until;
    t.begun = task.grant_from;
    t.working = true;
    t.work_from = work_at(*t.record, static_cast<double>(t.samples));
    t.since = now_;
    plan(t);
  }
  if (task.state == core::TaskState::kPreempting) pause(t, task.state_since);
  if (task.checkpoint_asked) save(t);
  if (was_told_to_go(task.state)) exit_after(t, task.state_since);
}

void Life::pause(Trainer& t, TimeNs told_at) {
  const auto& pauses = t.record->pauses;
  const DurationNs took = t.pauses < pauses.size() ? pauses[t.pauses] : mean(pauses);
  ++t.pauses;
  later(told_at + took, Kind::kPaused, t.ref.key, t.process);
}

void Life::save(Trainer& t) {
  const auto& saves = t.record->checkpoints;
  if (saves.empty()) return;
  const DurationNs took = t.saves < saves.size() ? saves[t.saves] : mean(saves);
  ++t.saves;
  later(now_ + took, Kind::kSaved, t.ref.key, t.process);
}

void Life::exit_after(Trainer& t, TimeNs told_at) {
  const auto found = t.record->stops.find(t.ref.attempt);
  DurationNs took = 0;
  if (found != t.record->stops.end()) {
    took = found->second;
  } else {
    std::vector<DurationNs> all;
    for (const auto& [attempt, one] : t.record->stops) all.push_back(one);
    took = mean(all);
  }
  later(told_at + took, Kind::kExit, t.ref.key, t.process);
}

void Life::stop(const core::StopTrainer& stop) {
  Trainer* t = find(stop);
  if (t == nullptr) return;
  if (t->working) {
    t->samples = samples_now(*t);
    stop_work(*t);
  }
  if (t->record == nullptr) return later(now_, Kind::kExit, stop.key, t->process);
  exit_after(*t, now_);
}

// The agent ended, and every trainer with it.
void Life::die() {
  future_ = {};
  held_.clear();
  ++wake_generation_;
  for (auto& [key, t] : trainers_) {
    t.alive = false;
    t.working = false;
    t.samples = t.saved;
    ++t.process;
    ++t.generation;
    expect_idle_crashes(key, t);
  }
}

void Life::carry_out(const core::Effect& effect) {
  if (const auto* start_ = std::get_if<core::StartTrainer>(&effect.body)) {
    start(*start_, now_);
  } else if (const auto* run = std::get_if<core::RunTrainer>(&effect.body)) {
    if (Trainer* t = find(*run)) work(*t, *run);
  } else if (const auto* pause_ = std::get_if<core::PreemptTrainer>(&effect.body)) {
    if (Trainer* t = find(*pause_)) pause(*t, now_);
  } else if (const auto* save_ = std::get_if<core::CheckpointTrainer>(&effect.body)) {
    if (Trainer* t = find(*save_)) save(*t);
  } else if (const auto* stop_ = std::get_if<core::StopTrainer>(&effect.body)) {
    stop(*stop_);
  } else if (const auto* kill = std::get_if<core::KillTrainer>(&effect.body)) {
    if (Trainer* t = find(*kill)) {
      stop_work(*t);
      ++t->process;
      later(now_ + kKillTakes, Kind::kExit, kill->key, t->process, -9);
    }
  } else if (const auto* wake = std::get_if<core::WakeAt>(&effect.body)) {
    ++wake_generation_;
    if (wake->at != kNever) later(wake->at + r_.tick_late, Kind::kWake, 0, wake_generation_);
  } else if (const auto* knob = std::get_if<core::SetPowerKnob>(&effect.body)) {
    later(now_ + kKnobTakes, Kind::kKnob, static_cast<core::TaskKey>(knob->rung), 0,
          knob->level_permille);
  } else if (const auto* send = std::get_if<core::SendToPeer>(&effect.body)) {
    if (place_ != nullptr) place_->send(*send, now_);
  } else if (const auto* answer = std::get_if<core::Answer>(&effect.body)) {
    if (submitting_ && !answer->ok && out_.refused.size() < core::kTasksLiveMax) {
      out_.refused.push_back(answer->text);
    }
  }
}

}  // namespace laird::whatif
