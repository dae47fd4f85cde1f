// Ledger messages for one peer, several in one MQTT message: byte 1 (the version), then for each
// message its length as 16 bits, low byte first, and its bytes (consensus/codec.hpp).
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

// Views into `payload`. Refuses another version, cut or empty messages, too many of them.
[[nodiscard]] Result<std::vector<std::string_view>> parse_coop(std::string_view payload);

}  // namespace laird::mqtt
