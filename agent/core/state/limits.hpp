// A limit on everything the core keeps or accepts, in one place, with their relations checked.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.hpp"

namespace laird::core {

inline constexpr std::size_t kTasksLiveMax = 1024;
inline constexpr std::size_t kTasksEndedKept =
    256;  // results kept in the state; the journal has all
inline constexpr std::size_t kLanesMax = 8;
inline constexpr std::size_t kTrainersMax = 64;  // names on the allow-list
inline constexpr std::size_t kNameBytesMax = 32;
inline constexpr std::size_t kRecurringMax = 64;
inline constexpr std::size_t kParamsBytesMax = 16 * 1024;
inline constexpr std::size_t kReasonBytesMax = 240;
inline constexpr std::size_t kPromoteLimitsBytesMax = 256;
inline constexpr std::uint64_t kSamplesMax = std::uint64_t{1} << 53;  // exact in a double
inline constexpr std::uint64_t kReportEveryMax = 1'000'000'000;
inline constexpr std::uint32_t kShareWholePpm = 1'000'000;
inline constexpr DurationNs kDeadlineMax = 366 * kDay;
// No instant is later (2096), agent time or wall clock: the difference of any two, a deadline away,
// still fits.
inline constexpr TimeNs kTimeMax = 4'000'000'000'000'000'000;
inline constexpr DurationNs kWaitMax = 366 * kDay;  // of any timeout in a config
inline constexpr std::int64_t kMemoryBytesMax = std::int64_t{1} << 50;
// The fleet.
inline constexpr std::size_t kMembersMax = 1024;
inline constexpr std::size_t kCommandIdBytesMax = 64;
inline constexpr std::size_t kCommandsSeenMax = 1024;           // remembered until they expire
inline constexpr std::size_t kCommandsKept = 64;                // and the last ones for longer
inline constexpr std::size_t kPeerMessagesMax = 256;            // heard between two ticks
inline constexpr std::size_t kPeerMessageBytesMax = 60 * 1024;  // one MQTT message
inline constexpr std::int64_t kAmountMax = 1'000'000'000'000;   // of any resource: a gigawatt
inline constexpr DurationNs kTickMin = 50 * kMillisecond;
inline constexpr DurationNs kTickMax = kMinute;
inline constexpr DurationNs kLeaseMax = kHour;
inline constexpr int kLeaseTicksMin = 20;         // the ledger needs many tries within a lease
inline constexpr DurationNs kYieldMax = kSecond;  // of a trainer that waits for other boards
// A trainer that lived so long after it got ready, or wrote a new checkpoint, has not ended its
// agent. After two deaths in a row those who were there are tried one at a time; after three a task
// has failed.
inline constexpr DurationNs kProvenAfter = 30 * kSecond;
inline constexpr std::uint32_t kAgentDeathsTrial = 2;
inline constexpr std::uint32_t kAgentDeathsMax = 3;
// Tasks that may move. What travels with one must fit one message to a peer.
inline constexpr std::size_t kTitlePacketBytesMax = 60 * 1024;
inline constexpr std::size_t kTitleBodyBytesMax = 59 * 1024;
inline constexpr std::size_t kCheckpointCopyBytesMax = 32 * 1024;
inline constexpr std::size_t kCheckpointFilesMax = 8;
inline constexpr std::size_t kFileNameBytesMax = 64;
inline constexpr std::size_t kTitleBytesKept = 8 * 1024 * 1024;  // of all titles and copies
inline constexpr int kCheckpointsPerCopy = 2;  // of one task: that many of its usual pauses between
inline constexpr int kMoveTicksMax = 60;       // a move that has not begun by then is called off
inline constexpr DurationNs kSliceMin = 10 * kMillisecond;
inline constexpr DurationNs kSliceMax = kHour;

// What every instant in a state or an event keeps to.
[[nodiscard]] constexpr bool is_instant(TimeNs at) { return at >= 0 && at <= kTimeMax; }

// A submission must fit one journal row and one line of the control socket with room to spare.
static_assert(kParamsBytesMax + 4 * 1024 <= 64 * 1024);
static_assert(kTasksEndedKept < kTasksLiveMax);
static_assert(kPromoteLimitsBytesMax + 64 <= kParamsBytesMax);
static_assert(kCommandsKept < kCommandsSeenMax);
static_assert(kAgentDeathsTrial < kAgentDeathsMax);
static_assert(kSliceMin < kSliceMax);
static_assert(kTitleBodyBytesMax + 256 <= kTitlePacketBytesMax);
static_assert(kTitlePacketBytesMax <= kPeerMessageBytesMax);
static_assert(kCheckpointCopyBytesMax + kParamsBytesMax + 8 * 1024 <= kTitleBodyBytesMax);
static_assert(kTimeMax + kDeadlineMax <= INT64_MAX - kTimeMax);
static_assert(kMemoryBytesMax <= INT64_MAX / static_cast<std::int64_t>(kTasksLiveMax + 1));

}  // namespace laird::core
