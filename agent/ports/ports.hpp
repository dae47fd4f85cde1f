// What the core's drivers talk to: a clock, a store, trainers, sensors, a link to the fleet.
//
// The shell implements them with the operating system, the simulator with models, tests with
// fakes. None of them is known to the core, which sees only events and commands.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "agent/core/state/effect.hpp"
#include "agent/core/state/event.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "power/readers/reader.hpp"

namespace laird::ports {

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

// Where readings come from: sysfs, tegrastats, a recording or a model; never blocks.
using Sensors = power::Reader;

// The append-only memory of a board; see agent/journal for the one that ships.
class Store {
 public:
  virtual ~Store() = default;
  [[nodiscard]] virtual Result<std::uint64_t> append(core::Event& event) = 0;
  virtual void record(std::uint64_t seq, core::Effects& commands, std::uint64_t state_hash) = 0;
  [[nodiscard]] virtual Status commit(bool durable) = 0;
};

// Messages to and from the fleet. Publishing never blocks; what cannot be sent is counted.
class Link {
 public:
  virtual ~Link() = default;
  [[nodiscard]] virtual bool connected() const = 0;
  virtual void publish(std::string_view topic, std::span<const std::uint8_t> payload,
                       bool retained) = 0;
};

}  // namespace laird::ports
