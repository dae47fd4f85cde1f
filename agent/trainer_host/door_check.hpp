// A trainer's own check of a task, made when the task is submitted: what its program has to say
// about the params and the data, before anything is promised.
//
// It runs in a cell like a trainer, and is bounded in time, in memory and in what it may say.
// Whatever keeps it from an answer (no time, no memory, too many at once) keeps no task out: the
// trainer will say the same later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/core/state/task.hpp"
#include "agent/os/loop.hpp"
#include "agent/os/process.hpp"
#include "agent/settings/trainer_program.hpp"

namespace laird::agent {

class DoorCheck {
 public:
  // What is wrong with the task, in the trainer's words; empty: nothing, or nobody knows.
  using Done = std::function<void(std::string problem)>;

  // All outlive it. `wait` 0: nothing is checked.
  DoorCheck(Loop& loop, Processes& processes, std::string tasks_folder, DurationNs wait);
  ~DoorCheck();
  DoorCheck(const DoorCheck&) = delete;
  DoorCheck& operator=(const DoorCheck&) = delete;

  // `done` is called later, or at once when there is nothing to wait for.
  void check(const core::TaskSpec& spec, const TrainerProgram& program, Done done);

 private:
  struct Running {
    Process process;
    std::string folder;
    std::string to_send;
    std::string said;
    Done done;
    Loop::TimerId timer = 0;
    bool is_late = false;
  };

  void send(Running& running);
  void read(Running& running);
  void look(int id);
  void give_up(int id);
  void end(int id);
  [[nodiscard]] std::string free_folder() const;

  Loop& loop_;
  Processes& processes_;
  const std::string tasks_folder_;
  const DurationNs wait_;
  std::map<int, std::unique_ptr<Running>> running_;
};

}  // namespace laird::agent
