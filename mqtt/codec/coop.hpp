// What boards say to one peer. Ledger messages, several in one MQTT message: byte 1 (the version),
// then for each message its length as 16 bits, low byte first, and its bytes (consensus/codec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::mqtt {

inline constexpr std::uint8_t kCoopVersion = 1;

class CoopWriter {
 public:
  CoopWriter();
  // False when it does not fit any more: send what there is and begin anew. A message longer than
  // kCoopFrameBytesMax or empty fits none.
  [[nodiscard]] bool add(std::string_view message);
  [[nodiscard]] bool empty() const { return frames_ == 0; }
  // The payload; the writer begins anew.
  [[nodiscard]] std::string take();

 private:
  std::string bytes_;
  std::size_t frames_ = 0;
};

// A part of a co-training task's model for one peer: byte 2, the length of the task's name, the
// name, and what its trainer gave (consensus/cotrain/cotrain_rounds.hpp).
inline constexpr std::uint8_t kCoopModelVersion = 2;

struct ModelPart {
  std::string_view task;
  std::string_view bytes;
};

[[nodiscard]] inline bool is_model_part(std::string_view payload) {
  return !payload.empty() && static_cast<std::uint8_t>(payload[0]) == kCoopModelVersion;
}
// Empty when it does not fit or the task's name is none.
[[nodiscard]] std::string model_payload(std::string_view task, std::string_view bytes);
// Views into `payload`.
[[nodiscard]] Result<ModelPart> parse_model_part(std::string_view payload);

// Views into `payload`. Refuses another version, cut or empty messages, too many of them.
[[nodiscard]] Result<std::vector<std::string_view>> parse_coop(std::string_view payload);

}  // namespace laird::mqtt
