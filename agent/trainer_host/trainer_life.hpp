// The life of a trainer process as a table: what it may say, and what it may be told, at which
// stage of its life. One line per transition, as for a task (agent/core/state/task.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace laird::agent {

enum class LifeStage : std::uint8_t {
  kStarting,  // it runs, and has not said that it is ready
  kIdle,      // ready, without a grant
  kWorking,   // within a grant
  kDying,     // killed, and not gone yet: what it still says is heard
};

enum class LifeEvent : std::uint8_t {
  // What the trainer says.
  kReady,
  kReported,    // progress within its grant, or with nothing new
  kGrantSpent,  // progress that reaches the end of its grant
  kYielded,
  kCheckpointed,
  kDone,
  kSpokeToPeers,
  // What the agent does.
  kGranted,
  kKilled,
};

// The word of the protocol.
[[nodiscard]] std::string_view name(LifeEvent event);

// nullopt when the table has no line for it: a breach of the protocol if the trainer said it, a bug
// if the agent did it.
[[nodiscard]] std::optional<LifeStage> next_stage(LifeStage stage, LifeEvent event);

}  // namespace laird::agent
