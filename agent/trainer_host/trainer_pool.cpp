#include "agent/trainer_host/trainer_pool.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <filesystem>

#include "agent/os/process.hpp"
#include "agent/trainer_host/trainer.hpp"
#include "cell/folder.hpp"

namespace laird::agent {
namespace {

// Of the freezer's duty cycle: shorter than any timeout, longer than a batch usually takes.
constexpr DurationNs kDutyPeriod = 100 * kMillisecond;

}  // namespace

TrainerPool::TrainerPool(Loop& loop, Processes& processes,
                         std::map<std::string, TrainerProgram> programs,
                         const std::string& state_folder, CgroupTree* groups,
                         std::uint64_t processes_max, Emit emit, Log log)
    : host_{loop, processes, std::move(emit), {}, {}},
      programs_(std::move(programs)),
      tasks_folder_(state_folder + "/tasks"),
      logs_folder_(state_folder + "/logs"),
      groups_(groups),
      processes_max_(processes_max),
      log_(std::move(log)) {}

TrainerPool::~TrainerPool() {
  if (duty_timer_ != 0) host_.loop.cancel(duty_timer_);
  kill_everything();
}

Trainer* TrainerPool::find(const core::ProcessRef& process) {
  for (auto& [id, trainer] : running_) {
    if (trainer->ref().key == process.key && trainer->ref().attempt == process.attempt) {
      return trainer.get();
    }
  }
  return nullptr;
}

void TrainerPool::start(const core::StartTrainer& command, const core::TaskSpec& spec, bool fresh,
                        core::TaskKey warm_from) {
  // An earlier process of the task may still be dying: two must never write one checkpoint.
  for (auto& [id, trainer] : running_) {
    if (trainer->ref().key != command.key) continue;
    trainer->kill();
    trainer->replace_by({command, spec, fresh, warm_from});
    return;
  }
  start_now(command, spec, fresh, warm_from);
}

void TrainerPool::start_now(const core::StartTrainer& command, const core::TaskSpec& spec,
                            bool fresh, core::TaskKey warm_from) {
  const auto refuse = [&](const std::string& why) {
    host_.emit(
        core::TrainerFailed{core::ProcessRef{command.key, command.attempt}, core::clipped(why)});
  };
  const auto program = programs_.find(spec.trainer);
  if (program == programs_.end()) {
    refuse("trainer '" + spec.trainer + "' is no longer on the allow-list");
    return;
  }
  for (const std::string& folder : {tasks_folder_, logs_folder_}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      refuse("cannot create " + folder + ": " + error.message());
      return;
    }
  }
  const std::string& folder_name = spec.folder();
  std::unique_ptr<Cgroup> group = make_group(spec);
  Result<Process> started = host_.processes.start(
      {spec.trainer, folder_name, spec.memory_bytes, fresh, false, warm_from}, group.get());
  if (!started) {
    refuse(started.error().context);
    return;
  }
  const int id = started->id;
  const int news = started->news;
  auto trainer = std::make_unique<Trainer>(host_, core::ProcessRef{command.key, command.attempt},
                                           spec, program->second.lines_only, std::move(group),
                                           std::move(*started), log_of(spec.log_name()));
  Trainer& running = *trainer;
  running_.emplace(id, std::move(trainer));
  if (news >= 0) {
    static_cast<void>(host_.loop.watch(news, EPOLLIN, [this](std::uint32_t) { reap(); }));
  }
  log_("task " + spec.name + ": starts " + program->second.what() + ", attempt " +
       std::to_string(command.attempt));
  const std::string folder = tasks_folder_ + "/" + folder_name;
  running.begin(folder, warm_from == 0 ? std::string() : folder + "/" + cell::kWarmFolder);
  // The first trainer under a duty cycle that rested begins with the half in which it runs.
  if (run_permille_ < power::kLevelFull && duty_timer_ == 0) plan_duty();
}

std::unique_ptr<Cgroup> TrainerPool::make_group(const core::TaskSpec& spec) {
  std::unique_ptr<Cgroup> out = groups_ == nullptr ? nullptr : groups_->create(spec.name);
  if (out != nullptr && processes_max_ > 0) static_cast<void>(out->limit_processes(processes_max_));
  return out;
}

void TrainerPool::run(const core::RunTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->run(command);
}
void TrainerPool::preempt(const core::PreemptTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->pause();
}
void TrainerPool::checkpoint(const core::CheckpointTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->checkpoint();
}
void TrainerPool::export_model(const core::ExportModel& command) {
  if (Trainer* trainer = find(command)) trainer->export_model();
}
void TrainerPool::stop(const core::StopTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->stop();
}
void TrainerPool::kill(const core::KillTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->kill();
}

void TrainerPool::limit(const core::LimitTrainer& command) {
  if (Trainer* trainer = find(command)) trainer->limit(command.cpu_milli);
}

void TrainerPool::tell(core::TaskKey key, const std::string& line, bool may_drop) {
  for (auto& [id, trainer] : running_) {
    if (trainer->ref().key == key) trainer->tell(line, may_drop);
  }
}

void TrainerPool::set_duty(const core::SetFreezerDuty& command) {
  run_permille_ = std::clamp(command.run_permille, 0, power::kLevelFull);
  if (run_permille_ < power::kLevelFull && duty_timer_ == 0) turn_duty();
}

void TrainerPool::hold(bool held) {
  if (held == held_) return;
  held_ = held;
  for (auto& [id, trainer] : running_) trainer->freeze_for_duty(held_ || duty_frozen_);
}

// One half of the cycle ends and the other begins; with nothing to hold back it stays thawed, and
// without trainers it rests until the next one starts.
void TrainerPool::turn_duty() {
  duty_timer_ = 0;
  const bool rests = run_permille_ >= power::kLevelFull || running_.empty();
  duty_frozen_ = !rests && !duty_frozen_;
  for (auto& [id, trainer] : running_) trainer->freeze_for_duty(held_ || duty_frozen_);
  if (!rests) plan_duty();
}

void TrainerPool::plan_duty() {
  const std::int32_t part = duty_frozen_ ? power::kLevelFull - run_permille_ : run_permille_;
  duty_timer_ = host_.loop.after(std::max(kMillisecond, kDutyPeriod / power::kLevelFull * part),
                                 [this] { turn_duty(); });
}

void TrainerPool::reap() {
  for (auto at = running_.begin(); at != running_.end();) {
    const bool has_ended = host_.processes.has_ended(at->first);
    if (host_.processes.is_outside_group(at->first)) at->second->leave_group();
    if (!has_ended) {
      ++at;
      continue;
    }
    if (at->second->news() >= 0) host_.loop.forget(at->second->news());
    const Ending ending = host_.processes.collect(at->first);
    std::unique_ptr<Trainer> gone = std::move(at->second);
    at = running_.erase(at);
    const std::string why = gone->ended(ending);
    if (!why.empty()) {
      log_("task " + gone->task_name() + ": " + core::clipped(why) + " (all of it is in " +
           log_of(gone->log_name()) + ")");
    }
    const std::optional<Trainer::NextStart> next = gone->next_start();
    gone.reset();
    if (next) {
      start_now(next->command, next->spec, next->fresh, next->warm_from);
      at = running_.begin();
    }
  }
}

std::optional<cell::Guards> TrainerPool::guards() const {
  std::optional<cell::Guards> out = host_.processes.guards();
  const bool limits = groups_ != nullptr && processes_max_ > 0 && groups_->limits_processes();
  if (out && limits) out->add(cell::Guard::kProcessLimit);
  return out;
}

void TrainerPool::kill_everything() {
  for (auto& [id, trainer] : running_) {
    trainer->kill();
    if (trainer->news() >= 0) host_.loop.forget(trainer->news());
  }
  for (auto& [id, trainer] : running_) static_cast<void>(host_.processes.collect(id));
  running_.clear();
}

}  // namespace laird::agent
