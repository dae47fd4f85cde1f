#include "tests/harness/fake_board.hpp"

#include <utility>

#include "agent/core/step/titles/title_body.hpp"

#include <algorithm>

#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::test {

core::CoreConfig small_board(const std::string& policy) {
  core::CoreConfig config;
  config.node = "test";
  config.policy = policy;
  config.lanes = {{"gpu0", core::LaneKind::kGpu, 1000}, {"cpu0", core::LaneKind::kCpu, 1000}};
  config.memory_bytes = 1'000'000'000;
  config.trainers = {"fake"};
  config.slice = kSecond;
  return config;
}

core::TaskSpec small_task(const std::string& name, DurationNs deadline, double target_loss) {
  core::TaskSpec spec;
  spec.name = name;
  spec.trainer = "fake";
  spec.deadline_after = deadline;
  spec.target_loss = target_loss;
  spec.memory_bytes = 100'000'000;
  spec.report_every = 100;
  return spec;
}

FakeBoard::FakeBoard(core::CoreConfig given) : config(std::move(given)) {
  tell(core::Booted{now_, config, now_, machine_boot, program, zone});
}

void FakeBoard::tell(core::EventBody body) { apply(std::move(body)); }

void FakeBoard::submit(core::TaskSpec spec, FakeTrainer trainer) {
  trainers_[spec.name] = trainer;
  tell(core::Submitted{order_ + 1, std::move(spec)});
}

int FakeBoard::count(std::string_view command_name) const {
  const auto found = counts_.find(std::string(command_name));
  return found == counts_.end() ? 0 : found->second;
}

void FakeBoard::later(DurationNs delay, std::function<void()> what) {
  future_.push(Happening{now_ + delay, ++order_, std::move(what)});
}

void FakeBoard::run_for(DurationNs duration) {
  const TimeNs end = now_ + duration;
  while (!future_.empty() && future_.top().at <= end) {
    const Happening next = future_.top();
    future_.pop();
    now_ = std::max(now_, next.at);
    next.what();
  }
  now_ = std::max(now_, end);
}

core::State read_back(core::State& state) {
  const Bytes bytes = core::encode(state);
  Result<core::State> back = core::decode_state(
      std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  LAIRD_REQUIRE(back.has_value(), "a state must survive its own encoding");
  return std::move(*back);
}

void FakeBoard::restart() {
  processes_.clear();
  future_ = {};
  ++wake_generation_;
  core::State back = read_back(state);
  LAIRD_REQUIRE(back.digest() == state.digest(), "decoding must not change the state");
  state = std::move(back);
  exited = false;
  tell(core::Booted{now_ + clock_off, config, now_, machine_boot, program, zone});
}

void FakeBoard::apply(core::EventBody body) {
  core::Effects commands;
  const core::Event event{now_, std::move(body)};
  core::step(state, event, commands);
  if (after_step) after_step(event, commands);
  for (const core::Effect& command : commands) {
    ++counts_[std::string(core::name(command.body))];
    carry_out(command);
  }
}

FakeBoard::Process* FakeBoard::find(const core::ProcessRef& ref) {
  const auto found = processes_.find(ref.key);
  if (found == processes_.end() || found->second.ref.attempt != ref.attempt) return nullptr;
  return &found->second;
}

double FakeBoard::loss_of(const FakeTrainer& trainer, std::uint64_t samples) const {
  return trainer.loss_start *
         exact::pow(1.0 + static_cast<double>(samples) / 1000.0, -trainer.loss_slope);
}

// Where the process has got to by now, if it has been running.
void FakeBoard::stop_running(Process& process) {
  if (!process.running) return;
  const double seconds = static_cast<double>(now_ - process.run_since) / 1e9;
  const auto done = static_cast<std::uint64_t>(seconds * trainers_[process.name].rate);
  process.samples = std::max(process.samples, std::min(process.until, process.run_from + done));
  process.running = false;
  ++process.generation;
}

void FakeBoard::write_checkpoint(Process& process) {
  checkpoints_[process.name] = process.samples;
  const core::ProcessRef ref = process.ref;
  const std::uint64_t samples = process.samples;
  later(trainers_[process.name].checkpoint_ns, [this, ref, samples] {
    if (find(ref) != nullptr) apply(core::TrainerCheckpointed{ref, samples});
  });
}

void FakeBoard::report(core::TaskKey key, std::uint32_t attempt, std::uint64_t generation) {
  Process* process = find({key, attempt});
  if (process == nullptr || !process->running || process->generation != generation) return;
  const FakeTrainer& trainer = trainers_[process->name];
  const core::Task* task = state.find_live(key);
  if (task == nullptr) return;
  const std::uint64_t next = std::min(process->until, process->samples + task->spec.report_every);
  process->samples = next;
  const core::ProcessRef ref = process->ref;
  if (trainer.crash_at != 0 && next >= trainer.crash_at) {
    trainers_[process->name].crash_at = 0;
    processes_.erase(key);
    apply(core::TrainerExited{ref, -11});
    return;
  }
  if (next >= process->until) {
    process->running = false;
  } else {
    const double step =
        static_cast<double>(std::min(process->until - next, task->spec.report_every));
    later(static_cast<DurationNs>(step / trainer.rate * 1e9),
          [this, key, attempt, generation] { report(key, attempt, generation); });
  }
  apply(core::TrainerProgressed{ref, next, loss_of(trainer, next)});
  process = find(ref);
  if (process != nullptr && trainer.done_at != 0 && next >= trainer.done_at) {
    apply(core::TrainerDone{ref});
  }
}

void FakeBoard::carry_out(const core::Effect& command) {
  struct Do {
    FakeBoard& b;
    void operator()(const core::StartTrainer& c) {
      const core::Task* task = b.state.find_live(c.key);
      LAIRD_REQUIRE(task != nullptr, "a trainer starts for a live task");
      Process process;
      process.ref = c;
      process.name = task->spec.name;
      if (task->begins_afresh()) b.checkpoints_.erase(process.name);
      b.place_checkpoint(*task);
      if (!task->spec.run_of.empty() && b.trainers_.count(process.name) == 0) {
        b.trainers_[process.name] = b.trainers_[task->spec.run_of];
      }
      process.samples = b.checkpoints_[process.name];
      b.processes_[c.key] = process;
      if (b.trainers_[process.name].hang_on_start) return;
      const core::ProcessRef ref = c;
      b.later(b.trainers_[process.name].start_ns, [this_board = &b, ref] {
        Process* p = this_board->find(ref);
        if (p == nullptr) return;
        p->ready = true;
        this_board->apply(core::TrainerReady{ref, p->samples, 0});
      });
    }
    void operator()(const core::RunTrainer& c) {
      Process* p = b.find(c);
      // Tests also speak in a trainer's name: then a grant may come before it is ready.
      if (p == nullptr || !p->ready) return;
      b.stop_running(*p);
      p->until = c.until;
      if (b.trainers_[p->name].hang_on_run) return;
      p->running = true;
      p->run_since = b.now_;
      p->run_from = p->samples;
      const std::uint64_t generation = ++p->generation;
      const core::Task* task = b.state.find_live(c.key);
      const double step = static_cast<double>(
          std::min<std::uint64_t>(task->spec.report_every, c.until - p->samples));
      const core::ProcessRef ref = c;
      b.later(static_cast<DurationNs>(step / b.trainers_[p->name].rate * 1e9),
              [this_board = &b, ref, generation] {
                this_board->report(ref.key, ref.attempt, generation);
              });
    }
    void operator()(const core::PreemptTrainer& c) {
      Process* p = b.find(c);
      if (p == nullptr || b.trainers_[p->name].ignore_pause) return;
      b.stop_running(*p);
      b.write_checkpoint(*p);
    }
    void operator()(const core::CheckpointTrainer& c) {
      if (Process* p = b.find(c)) b.write_checkpoint(*p);
    }
    void operator()(const core::StopTrainer& c) {
      Process* p = b.find(c);
      if (p == nullptr || b.trainers_[p->name].ignore_stop) return;
      b.stop_running(*p);
      b.write_checkpoint(*p);
      const core::ProcessRef ref = c;
      b.later(b.trainers_[p->name].checkpoint_ns + 1, [this_board = &b, ref] {
        if (this_board->find(ref) == nullptr) return;
        this_board->processes_.erase(ref.key);
        this_board->apply(core::TrainerExited{ref, 0});
      });
    }
    void operator()(const core::KillTrainer& c) {
      if (b.find(c) == nullptr) return;
      b.processes_.erase(c.key);
      const core::ProcessRef ref = c;
      b.later(kMillisecond, [this_board = &b, ref] {
        this_board->apply(core::TrainerExited{ref, -9});
      });
    }
    void operator()(const core::WakeAt& c) {
      const std::uint64_t generation = ++b.wake_generation_;
      if (c.at == kNever) return;
      b.later(std::max<DurationNs>(0, c.at - b.now_), [this_board = &b, generation] {
        if (this_board->wake_generation_ == generation) this_board->apply(core::Ticked{});
      });
    }
    void operator()(const core::Answer& c) { b.answers.push_back(c); }
    void operator()(const core::TaskChanged&) {}
    void operator()(const core::ExitNow&) { b.exited = true; }
    void operator()(const core::SendToPeer& c) { b.sent.push_back(c); }
    void operator()(const core::SendTitle& c) { b.sent_titles.push_back(c); }
    void operator()(const core::SendRun& c) { b.sent_runs.push_back(c); }
    void operator()(const core::CopyCheckpoint& c) {
      const core::Task* task = b.state.find_live(c.key);
      LAIRD_REQUIRE(task != nullptr, "a checkpoint is copied of a live task");
      const std::string& name = task->spec.name;
      core::CheckpointRead read{c, {}, b.trainers_[name].large_checkpoint};
      if (!read.too_large && b.checkpoints_[name] > 0) {
        read.files.push_back({"checkpoint", std::to_string(b.checkpoints_[name])});
      }
      b.later(kMillisecond, [this_board = &b, read] { this_board->apply(read); });
    }
    void operator()(const core::Notice& c) { b.notices.push_back(c); }
    void operator()(const core::LimitTrainer&) {}
    void operator()(const core::SetFreezerDuty&) {}
    void operator()(const core::SetPowerKnob&) {}
    void operator()(const core::ExportModel&) {}
  };
  std::visit(Do{*this}, command.body);
}

// What came with a task from another board goes where its trainer looks for it.
void FakeBoard::place_checkpoint(const core::Task& task) {
  if (!task.moving.came || task.restore_ns != 0) return;
  const auto& titles = std::as_const(state.fleet.titles);
  const consensus::HeldTitle* title = titles->titles().holds(task.moving.title);
  if (title == nullptr) return;
  const Result<core::TitleBody> body = core::decode_title_body(title->body);
  if (!body) return;
  if (!body->files.empty()) checkpoints_[task.spec.name] = std::stoull(body->files[0].bytes);
}

void submit_several(FakeBoard& board, int tasks) {
  for (int i = 0; i < tasks; ++i) {
    FakeTrainer trainer;
    trainer.loss_slope = 0.3 + 0.05 * i;
    trainer.start_ns = kMillisecond;
    board.submit(small_task("t" + std::to_string(i), 2 * kMinute, 0.1 + 0.02 * i), trainer);
  }
}

std::uint64_t digest_after_a_minute(const std::string& policy, int tasks, bool restarted) {
  FakeBoard board(small_board(policy));
  submit_several(board, tasks);
  board.run_for(20 * kSecond);
  if (restarted) {
    const Bytes bytes = core::encode(board.state);
    board.state = *core::decode_state(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  board.run_for(40 * kSecond);
  return board.state.digest();
}

}  // namespace laird::test
