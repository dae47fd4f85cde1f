// What the driver of the core needs of the machine: a clock, and something that runs trainers.
//
// The agent implements both with the operating system, and tests implement them with fakes. The
// core knows neither of them: it sees only events and effects.
#pragma once

#include "agent/core/state/effect.hpp"
#include "agent/core/state/task.hpp"
#include "base/time.hpp"

namespace laird::ports {

class Clock {
 public:
  virtual ~Clock() = default;
  // Counts on while the machine sleeps; never goes back.
  [[nodiscard]] virtual TimeNs boot_ns() = 0;
  // What people call the time; jumps when the clock is set.
  [[nodiscard]] virtual TimeNs wall_ns() = 0;
};

// Carries out what the core asks of a trainer, and reports back through events.
class Trainers {
 public:
  virtual ~Trainers() = default;
  virtual void start(const core::StartTrainer& command, const core::TaskSpec& spec) = 0;
  virtual void run(const core::RunTrainer& command) = 0;
  virtual void preempt(const core::PreemptTrainer& command) = 0;
  virtual void checkpoint(const core::CheckpointTrainer& command) = 0;
  virtual void stop(const core::StopTrainer& command) = 0;
  virtual void kill(const core::KillTrainer& command) = 0;
  virtual void limit(const core::LimitTrainer& command) = 0;
  virtual void set_duty(const core::SetFreezerDuty& command) = 0;
};

}  // namespace laird::ports
