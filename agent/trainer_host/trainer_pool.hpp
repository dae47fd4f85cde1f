// The trainers of this board: processes, their sockets and output, their groups. Carries out the
// core's commands and turns what trainers say and do into events.
//
// Both kinds of trainer take this path: those that speak protocol v1, and those that only print
// progress lines and are held back by the freezer (or SIGSTOP where there is none).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/core/state/effect.hpp"
#include "agent/os/cgroup.hpp"
#include "agent/os/loop.hpp"
#include "agent/settings/trainer_program.hpp"
#include "agent/trainer_host/trainer_host.hpp"

namespace laird::agent {

class Trainer;

class TrainerPool final {
 public:
  using Emit = decltype(TrainerHost::emit);
  using Log = std::function<void(const std::string&)>;
  using ToPeers = decltype(TrainerHost::to_peers);
  using Group = decltype(TrainerHost::group);

  // `state_folder` gets a folder for each task, below tasks, and a log of what its trainer prints,
  // below logs. `groups` may be null; each group takes at most `processes_max`.
  TrainerPool(Loop& loop, Processes& processes, std::map<std::string, TrainerProgram> programs,
              const std::string& state_folder, CgroupTree* groups, std::uint64_t processes_max,
              Emit emit, Log log);
  ~TrainerPool();

  // `fresh`: what is in the task's folder is another's. `warm_from`: but the model of that earlier
  // run is what it begins with.
  void start(const core::StartTrainer& command, const core::TaskSpec& spec, bool fresh,
             core::TaskKey warm_from = 0);
  void run(const core::RunTrainer& command);
  void preempt(const core::PreemptTrainer& command);
  void checkpoint(const core::CheckpointTrainer& command);
  void export_model(const core::ExportModel& command);
  void stop(const core::StopTrainer& command);
  void kill(const core::KillTrainer& command);
  void limit(const core::LimitTrainer& command);
  void set_duty(const core::SetFreezerDuty& command);

  // Nothing runs until it is let go, whatever it was granted.
  void hold(bool held);

  void on_meter(decltype(TrainerHost::meter) meter) { host_.meter = std::move(meter); }
  void on_to_peers(ToPeers shared) { host_.to_peers = std::move(shared); }
  void on_group(Group told) { host_.group = std::move(told); }
  // A line of the fleet for the trainer of a task. One that it has no room for is dropped when it
  // may be: what is missing in a model is asked for again.
  void tell(core::TaskKey key, const std::string& line, bool may_drop);

  // Looks who has ended. By itself, where trainers bring news; else call it on SIGCHLD.
  void reap();
  // Ends every process at once; for an exit that cannot wait.
  void kill_everything();
  [[nodiscard]] bool empty() const { return running_.empty(); }
  // What keeps trainers apart from the agent, once it is known.
  [[nodiscard]] std::optional<cell::Guards> guards() const;
  // Where what the task's trainer prints is kept, by the task's log_name().
  [[nodiscard]] std::string log_of(const std::string& task) const {
    return logs_folder_ + "/" + task + ".log";
  }

 private:
  [[nodiscard]] Trainer* find(const core::ProcessRef& process);
  void turn_duty();
  void plan_duty();
  [[nodiscard]] std::unique_ptr<Cgroup> make_group(const core::TaskSpec& spec);
  void start_now(const core::StartTrainer& command, const core::TaskSpec& spec, bool fresh,
                 core::TaskKey warm_from);

  TrainerHost host_;
  std::map<std::string, TrainerProgram> programs_;
  const std::string tasks_folder_;
  const std::string logs_folder_;
  CgroupTree* groups_;
  const std::uint64_t processes_max_;
  Log log_;
  std::map<int, std::unique_ptr<Trainer>> running_;  // by the process's id
  // The freezer's duty cycle: all trainers run and are frozen together. It costs the agent two
  // wakes in each period, so it turns only while there is a trainer.
  std::int32_t run_permille_ = power::kLevelFull;
  bool duty_frozen_ = false;
  bool held_ = false;
  Loop::TimerId duty_timer_ = 0;
};

}  // namespace laird::agent
