// Trainer protocol v1, the trainer's side: lines of JSON in, lines of JSON out. Described for
// writers of trainers in docs/trainer-protocol.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "json/value.hpp"
#include "trainers/model/training_run.hpp"

namespace laird::trainers {

inline constexpr int kProtocolVersion = 1;
inline constexpr std::size_t kLineFromAgentMax = 65536;
inline constexpr std::size_t kLineToAgentMax = 4096;
inline constexpr std::size_t kShareLineMax = 65536;  // of a `share`, which is longer

namespace from_agent {
struct Start {
  std::string task;
  std::string folder;
  json::Value params;
  std::uint64_t report_every = 0;
  std::uint64_t seed = 0;
};
struct Run {
  std::uint64_t until = 0;
};
struct Pause {};
struct Checkpoint {};
struct Stop {};
struct Peers {
  Neighbours neighbours;
};
struct Peer {
  std::string from;
  std::string bytes;
};
}  // namespace from_agent

using Message =
    std::variant<from_agent::Start, from_agent::Run, from_agent::Pause, from_agent::Checkpoint,
                 from_agent::Stop, from_agent::Peers, from_agent::Peer>;

// One line without its end. An unknown type is kNotFound (to be ignored and noted), anything else
// wrong kInvalid.
[[nodiscard]] Result<Message> parse_message(std::string_view line);

// Each gives one line with its end, at most kLineToAgentMax bytes.
[[nodiscard]] std::string ready_line(std::uint64_t samples, std::optional<double> loss,
                                     bool resumed, std::optional<std::uint64_t> planned);
[[nodiscard]] std::string progress_line(std::uint64_t samples, double loss);
[[nodiscard]] std::string checkpointed_line(std::uint64_t samples, std::optional<double> loss);
[[nodiscard]] std::string done_line(std::uint64_t samples, double loss);
// Gives the lane back for a while; the allowance is gone with it.
[[nodiscard]] std::string yield_line(DurationNs for_ns);
// At most kShareLineMax bytes.
[[nodiscard]] std::string share_line(const Share& share);
// A message too long for a line is cut.
[[nodiscard]] std::string error_line(std::string message);

}  // namespace laird::trainers
