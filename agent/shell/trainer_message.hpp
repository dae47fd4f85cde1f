// Trainer protocol v1, the agent's side of the wire (docs/trainer-protocol.md). Pure text in,
// values out; every message is bounded and checked here, once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/core/task.hpp"
#include "base/error.hpp"

namespace laird::shell {

inline constexpr std::size_t kTrainerLineMax = 4096;  // longer is a breach of the protocol

struct TrainerMessage {
  enum class Type : std::uint8_t { kReady, kProgress, kCheckpointed, kDone, kError };
  Type type = Type::kReady;
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  double loss = 0.0;
  std::string text;  // of an error
};

// One line, without its newline. The error says what is wrong with it.
[[nodiscard]] Result<TrainerMessage> parse_trainer_line(std::string_view line);

// For trainers that cannot cooperate: "laird: samples=1200 loss=0.35" on standard output.
[[nodiscard]] std::optional<TrainerMessage> parse_progress_line(std::string_view line);

[[nodiscard]] std::string start_line(const core::TaskSpec& spec, const std::string& folder,
                                     int threads);
[[nodiscard]] std::string run_line(std::uint64_t until);
[[nodiscard]] std::string plain_line(std::string_view type);  // pause, checkpoint, stop

}  // namespace laird::shell
