#include "lab/simulator/curve_board.hpp"

#include <algorithm>
#include <cmath>

#include "base/require.hpp"

namespace laird::lab {
namespace {

constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::int64_t kTaskBytes = 1'000'000;

[[nodiscard]] double loss_at(const std::vector<double>& losses, std::uint64_t samples) {
  const std::uint64_t whole = samples / kSamplesPerPoint;
  if (whole >= losses.size()) return losses.back();
  if (whole == 0) return losses.front();
  const double part =
      static_cast<double>(samples % kSamplesPerPoint) / static_cast<double>(kSamplesPerPoint);
  return losses[whole - 1] + part * (losses[whole] - losses[whole - 1]);
}

// Samples per ns with the whole lane.
[[nodiscard]] double full_speed(const SimulatedTask& task) {
  return static_cast<double>(task.losses->size() * kSamplesPerPoint) /
         (task.duration_units * static_cast<double>(kTimeUnit));
}

[[nodiscard]] DurationNs units(double count) {
  return static_cast<DurationNs>(std::llround(count * static_cast<double>(kTimeUnit)));
}

}  // namespace

double need_units(const SimulatedTask& task) {
  const std::vector<double>& losses = *task.losses;
  const double per_point = task.duration_units / static_cast<double>(losses.size());
  if (losses.front() <= task.target_loss) return 0.0;
  for (std::size_t i = 1; i < losses.size(); ++i) {
    if (losses[i] > task.target_loss) continue;
    const double part = (losses[i - 1] - task.target_loss) / (losses[i - 1] - losses[i]);
    return (static_cast<double>(i) + part) * per_point;
  }
  return -1.0;
}

CurveBoard::CurveBoard(const std::string& policy, std::uint64_t seed, DurationNs slice) {
  config_.node = "lab";
  config_.policy = policy;
  config_.lanes = {{"lane0", core::LaneKind::kCpu, 1'000'000}};
  config_.trainers = {"curve"};
  config_.slice = slice;
  config_.seed = seed;
  // Nothing fails here, so no timer of the failure handling may go off.
  config_.timing.start_timeout = kDay;
  config_.timing.hang_timeout = kDay;
  config_.timing.preempt_timeout = kDay;
  config_.timing.stop_grace = kDay;
  config_.timing.checkpoint_every = kDay;
}

CurveBoard::Process* CurveBoard::find(const core::ProcessRef& ref) {
  if (ref.key >= index_of_.size() || index_of_[ref.key] == kNobody) return nullptr;
  Process& process = processes_[index_of_[ref.key]];
  return process.ref.attempt == ref.attempt ? &process : nullptr;
}

void CurveBoard::later(TimeNs at, Kind kind, std::uint32_t task, std::uint64_t generation) {
  future_.push(Happening{at, ++order_, generation, task, kind});
}

void CurveBoard::apply(core::EventBody body) {
  commands_.clear();
  const core::Event event{now_, std::move(body)};
  core::step(state_, event, commands_);
  if (watch) watch(event, state_, commands_);
  if (after_step) after_step(state_, commands_);
  // Carrying out only schedules; it never steps, so the list stays as it is meanwhile.
  for (const core::Effect& command : commands_) carry_out(command);
}

void CurveBoard::carry_out(const core::Effect& command) {
  struct Do {
    CurveBoard& b;
    void operator()(const core::StartTrainer& c) {
      Process& p = b.processes_[b.index_of_[c.key]];
      p.ref = c;
      if (b.starting && b.starting(b.index_of_[c.key], b.now_)) return;
      b.ready(b.index_of_[c.key], b.now_ + units(p.task->restore_units));
    }
    void operator()(const core::RunTrainer& c) {
      Process* p = b.find(c);
      LAIRD_REQUIRE(p != nullptr && c.until > p->samples, "a grant must be ahead of its trainer");
      p->until = c.until;
      p->running = true;
      ++p->generation;
      p->share =
          static_cast<double>(c.cpu_milli) / static_cast<double>(b.config_.lanes[0].cores_milli);
      p->speed = full_speed(*p->task) * p->share;
      p->run_from = p->samples;
      p->run_since = b.now_;
      ++b.grants_;
      b.next_report(*p);
    }
    void operator()(const core::PreemptTrainer& c) {
      if (b.find(c) != nullptr) b.later(b.now_, Kind::kPreempt, b.index_of_[c.key], 0);
    }
    void operator()(const core::CheckpointTrainer&) {}
    void operator()(const core::StopTrainer& c) {
      if (Process* p = b.find(c)) {
        b.end_run(*p);
        ++p->generation;
        b.later(b.now_ + units(p->task->checkpoint_units), Kind::kExit, b.index_of_[c.key], 0);
      }
    }
    void operator()(const core::KillTrainer&) {}
    void operator()(const core::WakeAt& c) {
      const std::uint64_t generation = ++b.wake_generation_;
      if (c.at != kNever) b.later(std::max(b.now_, c.at), Kind::kWake, 0, generation);
    }
    void operator()(const core::Answer& c) {
      LAIRD_REQUIRE(c.ok, "the lab submits only tasks the core accepts");
    }
    void operator()(const core::TaskChanged& c) {
      if (c.outcome == core::Outcome::kSucceeded) b.succeeded_at_[b.index_of_[c.key]] = b.now_;
    }
    void operator()(const core::ExitNow&) {}
    void operator()(const core::SendToPeer& c) {
      if (b.send) b.send(c);
    }
    void operator()(const core::Notice&) {}
    void operator()(const core::LimitTrainer&) {}
    void operator()(const core::SetFreezerDuty&) {}
    void operator()(const core::SetPowerKnob&) {}
    void operator()(const core::ExportModel&) {}
    void operator()(const core::SendTitle&) {}
    void operator()(const core::SendRun&) {}
    void operator()(const core::CopyCheckpoint&) {}
  };
  std::visit(Do{*this}, command.body);
}

void CurveBoard::submit(std::uint32_t index) {
  const SimulatedTask& task = *processes_[index].task;
  core::TaskSpec spec;
  spec.name = "t" + std::to_string(index);
  spec.trainer = "curve";
  spec.deadline_after = units(task.deadline_units);
  spec.target_loss = task.target_loss;
  spec.memory_bytes = kTaskBytes;
  spec.lane = config_.lanes[0].kind;
  spec.weight_milli = task.weight_milli;
  spec.report_every = kSamplesPerPoint;
  if (task.planned_length_known) {
    spec.planned_samples = task.losses->size() * kSamplesPerPoint;
  }
  const core::TaskKey key = state_.next_key;
  index_of_.resize(std::max<std::size_t>(index_of_.size(), key + 1), kNobody);
  index_of_[key] = index;
  apply(core::Submitted{1, std::move(spec)});
  core::Task* accepted = state_.find_live(key);
  LAIRD_REQUIRE(accepted != nullptr, "an accepted task is live");
  if (task.forecast_constants != nullptr) {
    accepted->forecast = estimators::Forecaster(*task.forecast_constants);
  }
  if (task.earlier != nullptr) accepted->forecast.recall(*task.earlier);
}

void CurveBoard::end_run(Process& process) {
  if (!process.running) return;
  process.running = false;
  work_ns_ += process.share * static_cast<double>(now_ - process.run_since);
  if (after_grant) after_grant(index_of_[process.ref.key], process.run_since, now_, process.share);
}

void CurveBoard::ready(std::uint32_t index, TimeNs at) {
  later(std::max(at, now_), Kind::kReady, index, 0);
}

void CurveBoard::next_report(Process& process) {
  const std::uint64_t boundary = (process.samples / kSamplesPerPoint + 1) * kSamplesPerPoint;
  const std::uint64_t next = std::min(process.until, boundary);
  // From the start of the run, so that rounding does not add up.
  const double ns = static_cast<double>(next - process.run_from) / process.speed;
  later(process.run_since + static_cast<DurationNs>(std::ceil(ns)), Kind::kReport,
        index_of_[process.ref.key], process.generation);
}

void CurveBoard::report(Process& process) {
  const std::uint64_t boundary = (process.samples / kSamplesPerPoint + 1) * kSamplesPerPoint;
  process.samples = std::min(process.until, boundary);
  if (process.samples < process.until) {
    next_report(process);
  } else {
    end_run(process);
  }
  apply(core::TrainerProgressed{process.ref, process.samples,
                                loss_at(*process.task->losses, process.samples)});
}

// Says how far it has come, then that it has paused.
void CurveBoard::pause(Process& process) {
  if (process.running) {
    const double done = static_cast<double>(now_ - process.run_since) * process.speed;
    const std::uint64_t at = process.run_from + static_cast<std::uint64_t>(done);
    process.samples = std::clamp(at, process.samples, process.until);
    end_run(process);
    ++process.generation;
    if (process.samples > 0) {
      apply(core::TrainerProgressed{process.ref, process.samples,
                                    loss_at(*process.task->losses, process.samples)});
    }
  }
  apply(core::TrainerCheckpointed{process.ref, process.samples});
}

void CurveBoard::happen(const Happening& h) {
  now_ = std::max(now_, h.at);
  switch (h.kind) {
    case Kind::kArrival: submit(h.task); return;
    case Kind::kReady:
      apply(core::TrainerReady{processes_[h.task].ref, processes_[h.task].samples, 0});
      return;
    case Kind::kReport: {
      Process& process = processes_[h.task];
      if (process.running && process.generation == h.generation) report(process);
      return;
    }
    case Kind::kPreempt: pause(processes_[h.task]); return;
    case Kind::kExit: {
      const Process& process = processes_[h.task];
      // Stopped in order: what it has done is in its checkpoint.
      apply(core::TrainerCheckpointed{process.ref, process.samples});
      apply(core::TrainerExited{process.ref, 0});
      return;
    }
    case Kind::kWake:
      if (h.generation == wake_generation_) apply(core::Ticked{});
      return;
  }
}

void CurveBoard::begin(const std::vector<SimulatedTask>& tasks) {
  LAIRD_REQUIRE(tasks.size() <= core::kTasksLiveMax, "as many as the core holds");
  const std::size_t room = std::max<std::size_t>(tasks.size(), 1);
  config_.memory_bytes = kTaskBytes * static_cast<std::int64_t>(room);
  if (resident_max > 0 && resident_max < room) {
    config_.memory_bytes = kTaskBytes * static_cast<std::int64_t>(resident_max);
  }
  if (configure) configure(config_);
  apply(core::Booted{now_, config_});
  if (prepare_policy) prepare_policy(*state_.policy);
  processes_.assign(tasks.size(), Process{});
  succeeded_at_.assign(tasks.size(), kNever);
  for (std::uint32_t i = 0; i < tasks.size(); ++i) {
    processes_[i].task = &tasks[i];
    later(start_ + units(tasks[i].arrival_units), Kind::kArrival, i, 0);
  }
}

void CurveBoard::tell(TimeNs at, core::EventBody body) {
  LAIRD_REQUIRE(at >= now_ && at <= next_at(), "events are told in order");
  now_ = at;
  apply(std::move(body));
}

double CurveBoard::use() const {
  double sum = 0.0;
  for (const Process& process : processes_) sum += process.running ? process.share : 0.0;
  return sum;
}

TimeNs CurveBoard::next_at() const { return future_.empty() ? kNever : future_.top().at; }

void CurveBoard::happen_next() {
  const Happening next = future_.top();
  future_.pop();
  const bool alive = !state_.live.empty() || next.kind == Kind::kArrival;
  happen(next);
  if (alive) ended_at_ = now_;
}

RunResult CurveBoard::finish() const {
  LAIRD_REQUIRE(state_.live.empty(), "every task has ended once nothing can happen any more");
  RunResult result;
  for (const TimeNs at : succeeded_at_) result.succeeded.push_back(at != kNever);
  result.switches = state_.counters.switches;
  result.grants = grants_;
  result.decisions = state_.counters.decisions;
  result.work_ns = static_cast<DurationNs>(work_ns_);
  result.span_ns = ended_at_ - start_;
  return result;
}

RunResult CurveBoard::run(const std::vector<SimulatedTask>& tasks) {
  begin(tasks);
  while (next_at() != kNever) happen_next();
  return finish();
}

}  // namespace laird::lab
