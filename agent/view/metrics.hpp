// What the agent knows, as OpenMetrics text for a scraper. Pure; metrics_port.hpp serves it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/core/state/state.hpp"
#include "mqtt/client/connection.hpp"
#include "power/model/board.hpp"
#include "power/model/reading.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::agent {

// Every label of a task is a time series that somebody stores: the first so many have one.
inline constexpr std::size_t kTasksLabelledMax = 64;

// A neighbour counts as heard when something came from it within so many rounds of the ledger.
inline constexpr int kHeardRounds = 5;

// Co-training tasks with a time series for each board of their group.
inline constexpr std::size_t kGroupsLabelledMax = 8;

struct MetricsInput {
  const core::State* state = nullptr;
  const power::Board* board = nullptr;
  std::optional<power::PowerReading> reading;  // the newest
  TimeNs now = 0;
  std::string version;
  // Tasks that ended since the agent's start, by core::Outcome.
  core::OutcomeCounts ended{};
  DurationNs over_cap_ns = 0;  // since the agent's start
  bool has_link = false;
  bool connected = false;
  mqtt::Counters link;
  // What became of peers' packets, by result; and what was refused, by peer and result.
  std::vector<std::pair<std::string, std::uint64_t>> coop;
  struct Refused {
    std::string peer;
    std::string reason;
    std::uint64_t count = 0;
  };
  std::vector<Refused> coop_refused;
  // How the groups of this board's co-training tasks are, as their trainers tell it.
  std::vector<std::pair<std::string, trainer_protocol::GroupStatus>> groups;
  std::int64_t resident_bytes = 0;
  double cpu_s = 0.0;
  double started_unix_s = 0.0;
};

[[nodiscard]] std::string metrics_text(const MetricsInput& in);

}  // namespace laird::agent
