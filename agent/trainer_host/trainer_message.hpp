// Trainer protocol v1, the agent's side of the wire (docs/trainer-protocol.md). Pure text in,
// values out; every message is bounded and checked here, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/core/state/task.hpp"
#include "base/error.hpp"

namespace laird::agent {

inline constexpr std::size_t kTrainerLineMax = 4096;   // longer is a breach of the protocol
inline constexpr std::size_t kToPeersLineMax = 65536;  // but for a `share` of a fleet task

struct TrainerMessage {
  enum class Type : std::uint8_t {
    kReady,
    kProgress,
    kCheckpointed,
    kDone,
    kError,
    kToPeers,
    kYield
  };
  Type type = Type::kReady;
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  double loss = 0.0;
  std::string text;       // of an error
  DurationNs for_ns = 0;  // of a yield
  std::string to;         // of a share: a node, empty for every neighbour
  std::string bytes;      // of a share
};

// One line, without its newline. The error says what is wrong with it.
[[nodiscard]] Result<TrainerMessage> parse_trainer_line(std::string_view line);

// For trainers that cannot cooperate: "laird: samples=1200 loss=0.35" on standard output.
[[nodiscard]] std::optional<TrainerMessage> parse_progress_line(std::string_view line);

[[nodiscard]] std::string start_line(const core::TaskSpec& spec, const std::string& folder,
                                     int threads);
[[nodiscard]] std::string run_line(std::uint64_t until);
// Of a fleet task: who takes part, and what one of them said.
struct PeersLine {
  std::string self;
  std::uint64_t life = 0;
  std::vector<std::pair<std::string, double>> peers;  // node and weight
  bool others_done = false;
};
[[nodiscard]] std::string peers_line(const PeersLine& peers);
[[nodiscard]] std::string peer_line(const std::string& from, std::string_view bytes);
[[nodiscard]] std::string plain_line(std::string_view type);  // pause, checkpoint, stop

}  // namespace laird::agent
