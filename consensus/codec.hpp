// The wire form of ledger messages: compact, versioned, bounded. Integers are little-endian base
// 128 (7 bits a byte, low first), signed ones zigzag first.
//
// byte 0: version (high nibble) and kind (low nibble); then epoch, the sender's incarnation, the
// receiver's incarnation; then the body. docs/ledger.md lists the fields.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

inline constexpr std::uint8_t kWireVersion = 5;

// Appends to `out`, which keeps its capacity between calls.
void encode(const Message& message, Bytes& out);
// Refuses anything encode() cannot have made: unknown version or kind, truncated, trailing bytes,
// numbers out of range, lists beyond their limits.
[[nodiscard]] Result<Message> decode(std::string_view bytes);

}  // namespace laird::consensus
