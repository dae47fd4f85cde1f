// What a line of the trainer protocol may hold, both ways (docs/trainer-protocol.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time.hpp"
#include "mqtt/codec/limits.hpp"

namespace laird::trainer_protocol {

inline constexpr int kVersion = 1;
inline constexpr std::size_t kLineFromAgentMax = 65536;
inline constexpr std::size_t kLineToAgentMax = 4096;   // longer is a breach of the protocol
inline constexpr std::size_t kToPeersLineMax = 65536;  // but for a `share` of a co-training task
inline constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 53;  // exact in a double
inline constexpr DurationNs kYieldMax = kSecond;
inline constexpr std::size_t kGroupPeersMax = 256;  // boards that have or had a co-training task
inline constexpr std::size_t kGroupBoardsMax = 64;  // that take part at once
inline constexpr std::size_t kGroupNoteMax = 400;
inline constexpr std::size_t kNodeBytesMax = 32;
// Where an agent asks for a task's model, in the task's folder.
inline constexpr std::string_view kExportFile = "model.onnx";

// Where the trainer of a co-training task leaves the group's model for boards that come after the
// end, in the task's folder: messages, each behind its length as 32 bits, low byte first.
inline constexpr std::string_view kParcelsFile = "model-for-peers.bin";

// What a trainer there shared must fit a line to the trainer here.
static_assert((mqtt::kModelPartBytesMax + 2) / 3 * 4 + kNodeBytesMax + 64 <= kToPeersLineMax);
static_assert(kToPeersLineMax <= kLineFromAgentMax);

}  // namespace laird::trainer_protocol
