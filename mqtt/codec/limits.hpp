// Every bound of what is sent to and taken from the broker, in one place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace laird::mqtt {

inline constexpr std::size_t kTopicBytesMax = 256;
inline constexpr std::size_t kTopicLevelsMax = 16;
inline constexpr std::size_t kPayloadBytesMax = 64 * 1024;
inline constexpr std::size_t kCommandIdBytesMax = 64;
inline constexpr std::size_t kCorrelationBytesMax = 256;
inline constexpr std::size_t kReplyTextBytesMax = 1024;
inline constexpr std::size_t kCoopFramesMax = 256;  // ledger messages in one MQTT message
inline constexpr std::size_t kCoopFrameBytesMax = 60 * 1024;
inline constexpr std::size_t kPeerTagBytes = 8;  // of a sealed packet: HMAC-SHA256, cut
// Of a packet for many boards, for each of them: four bytes of its name and its tag.
inline constexpr std::size_t kManyRecipientBytes = 4 + kPeerTagBytes;
// The body of a packet: what its first byte, its counter and its tag leave.
inline constexpr std::size_t kCoopBodyBytesMax = kPayloadBytesMax - 1 - 9 - kPeerTagBytes;
inline constexpr std::size_t kPeerKeyBytes = 32;  // X25519
inline constexpr std::size_t kKeyBodyBytesMax = 4 * 1024;
inline constexpr std::size_t kModelPartBytesMax = 45 * 1024;  // base64 of it fits a trainer's line
inline constexpr std::size_t kPublicKeyBytes = 32;            // Ed25519
inline constexpr std::size_t kSignatureBytes = 64;

// How much the clocks of operators and boards may differ, and how long a command may be valid.
inline constexpr std::int64_t kClockSkewMaxMs = 30'000;
inline constexpr std::int64_t kCommandLifeMaxMs = 600'000;

// The signed text is a JSON string inside the envelope, and escapes can make it longer there.
static_assert(kCoopFrameBytesMax + 3 <= kCoopBodyBytesMax);
static_assert(kTopicBytesMax < 65'536, "MQTT counts a topic's bytes in 16 bits");

}  // namespace laird::mqtt
