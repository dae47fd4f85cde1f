// What a board tells its fleet about itself, read from the state.
#pragma once

#include <deque>
#include <optional>

#include "agent/core/state.hpp"
#include "json/value.hpp"
#include "mqtt/codec/messages.hpp"

namespace laird::shell {

[[nodiscard]] mqtt::NodeInfo info_of(const core::State& state, const std::string& model,
                                     const std::string& version);
[[nodiscard]] mqtt::NodeReport report_of(const core::State& state, TimeNs now);
// The parts of a report whose change cannot wait.
[[nodiscard]] std::string brief_of(const mqtt::NodeReport& report);
// Memory and time this process has used.
void add_own_footprint(mqtt::NodeReport& report);
[[nodiscard]] json::Value power_telemetry(const core::State& state, TimeNs now, std::uint64_t epoch,
                                          std::int64_t unix_ms);

}  // namespace laird::shell
