// The wire form of ledger messages: compact, versioned, bounded. Integers are written in base 128,
// 7 bits per byte, the low digits first; signed integers are zigzag-encoded before. Every value has
// exactly one encoding.
//
// Byte 0 holds the version (high nibble) and the kind (low nibble). The founding epoch follows,
// then the sender's incarnation, then the body. A message on an edge has no incarnation: the edge's
// number in the body says which account it is from. docs/wire-ledger.md lists the fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

inline constexpr std::uint8_t kWireVersion = 7;

// Appends the message to `out`; a buffer that is used again keeps its capacity.
void encode(const Message& message, Bytes& out);
// Refuses whatever encode() cannot have written: an unknown version or kind, a truncated message,
// bytes after the end, numbers out of range, lists beyond their limits.
[[nodiscard]] Result<Message> decode(std::string_view bytes);
// The version that a message of another one says it has; nullopt: the message is of this one.
// Boards of two wire versions do not understand each other and stay on their floors, which an
// operator has to be told.
[[nodiscard]] std::optional<std::uint8_t> other_wire_version(std::string_view bytes);

}  // namespace laird::consensus
