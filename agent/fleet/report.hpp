// What a board tells its fleet about itself, read from the state.
#pragma once

#include <deque>
#include <optional>

#include "agent/core/state/state.hpp"
#include "json/value.hpp"
#include "mqtt/codec/board_facts.hpp"
#include "power/model/board.hpp"

namespace laird::agent {

[[nodiscard]] mqtt::NodeInfo info_of(const core::State& state, const std::string& model,
                                     const std::string& version);
// What others plan with: `about` with what the state adds to it.
[[nodiscard]] mqtt::BoardFacts facts_of(const power::Board& board);
[[nodiscard]] mqtt::BoardFacts facts_of(const core::State& state, mqtt::BoardFacts about);
[[nodiscard]] mqtt::NodeReport report_of(const core::State& state, TimeNs now);
// The parts of a report whose change cannot wait.
[[nodiscard]] std::string brief_of(const mqtt::NodeReport& report);
// The mean power of the last seconds, from the energy counted: a reading alone shows whichever
// moment of a gated lane it fell on.
class EnergyWindow {
 public:
  // Call about once a second; nothing until there is a window.
  [[nodiscard]] std::optional<double> mean_w(const core::State& state);

 private:
  struct Mark {
    DurationNs metered_ns = 0;
    std::int64_t uj = 0;
  };
  std::deque<Mark> marks_;
};

// `reading`: the newest one of the board, for what the core does not keep: loads and memory.
[[nodiscard]] json::Value power_telemetry(const core::State& state, TimeNs now, std::uint64_t epoch,
                                          std::int64_t unix_ms, std::optional<double> mean_w,
                                          const std::optional<power::PowerReading>& reading);

}  // namespace laird::agent
