// The machine under an agent: all that an agent asks of the world beside its own folder. A test
// that owns time makes one of its own (tests/virtual).
#pragma once

#include <cstdint>
#include <functional>

#include "agent/os/process.hpp"
#include "mqtt/client/connection.hpp"
#include "os/clock.hpp"

namespace laird::agent {

// What this process has used.
struct Footprint {
  std::int64_t resident_kb = 0;
  std::int64_t cpu_ms = 0;
};

struct Machine {
  Clock& clock;
  Processes& processes;
  mqtt::Connect connect;
  std::function<Footprint()> footprint;
  std::uint64_t boot = 0;     // names this boot of the machine
  std::uint64_t program = 0;  // names the build of the agent that runs
};

// The one this program runs on; clock and processes outlive it.
[[nodiscard]] Machine this_machine(Clock& clock, Processes& processes);

}  // namespace laird::agent
