// A journal from a board, stepped again on any machine: the same commands and the same state, bit
// for bit, or the first difference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"
#include "base/error.hpp"

namespace laird::lab {

struct Difference {
  std::string file;
  std::uint64_t seq = 0;
  std::string event;                  // in words
  std::vector<std::string> recorded;  // commands then
  std::vector<std::string> replayed;  // commands now
  bool state_only = false;            // the commands agree, the state after them does not
};

struct ReplayResult {
  std::uint64_t events = 0;
  std::uint64_t commands = 0;
  std::uint64_t unverified = 0;  // events whose answer was not recorded (the last before a crash)
  std::vector<std::string> damage;
  bool lost_events = false;        // by damage; a log that ends inside a write has lost none
  std::vector<std::string> older;  // files of an older release, which answered by its own rules
  std::optional<Difference> difference;
  std::uint64_t state_hash = 0;  // after the last event
  core::State state;             // the same itself
};

using ReplayProgress = std::function<void(std::uint64_t events)>;
// Sees each event, the state after it, and what the core asked for in answer to it.
using ReplayWatch = std::function<void(const core::Event& event, const core::State& state,
                                       const core::Effects& commands)>;

// Sees the state before the first event, or before the first one of `at` or later.
struct ReplayBegin {
  std::function<void(core::State& state)> see;
  TimeNs at = 0;
};

// `path` is a journal file, or a folder of them, which are replayed in order and must join up.
[[nodiscard]] Result<ReplayResult> replay(const std::string& path, const ReplayProgress& progress,
                                          const ReplayWatch& watch = {},
                                          const ReplayBegin& begin = {});

// "identical: N events, M commands", or the first difference with both sides.
[[nodiscard]] std::string report(const ReplayResult& result);

}  // namespace laird::lab
