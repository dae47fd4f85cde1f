// What a line of the trainer protocol may hold, both ways (docs/trainer-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::trainer_protocol {

inline constexpr int kVersion = 1;
inline constexpr std::size_t kLineFromAgentMax = 65536;
inline constexpr std::size_t kLineToAgentMax = 4096;   // longer is a breach of the protocol
inline constexpr std::size_t kToPeersLineMax = 65536;  // but for a `share` of a co-training task
inline constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 53;  // exact in a double
inline constexpr DurationNs kYieldMax = kSecond;
inline constexpr std::size_t kNeighboursMax = 64;
inline constexpr std::size_t kNodeBytesMax = 32;

// What a trainer there shared must fit a line to the trainer here.
static_assert((mqtt::kModelPartBytesMax + 2) / 3 * 4 + kNodeBytesMax + 64 <= kToPeersLineMax);
static_assert(kToPeersLineMax <= kLineFromAgentMax);

}  // namespace laird::trainer_protocol
