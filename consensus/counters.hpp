// Every counter of the share ledger: how wide it is, how fast it grows, and what happens at its
// end. docs/ledger.md, "Counters", has the same table for people. Nothing here ever wraps around.
//
// counter          width  grows by                         at its end
// founding epoch   63     the sum of all incarnations; a   cannot be reached: kAccountsMax accounts
//                         liar: kEpochStep a founding      of kIncarnationMax make 2^46
// roll call        63     one a call, above the            cannot be reached: see kCallBits
//                         incarnation
// round of ballots 63     one a round; a liar: at most     2^31 lies of one member away; then the
//                         kRoundStep a message             keepers refuse and stay as they are
// version          32     one a change of the register     136 years at one a second; then nothing
//                                                          is composed any more
// edge number      32     one an edge                      then no edge is opened any more
// seq of an edge   32     one a tick                       the edge is closed and opened anew
// incarnation      32     one a life; seconds since 2020   the account stays outside the register
//                         after a reboot
// quorum revision  32     one a change of the quorum       the quorum stays as it is
// serial           32     one a tick                       stays at its end; equal ones are taken
// probe number     21     one a tick                       begins again: an answer counts for ten
//                                                          ticks, so 24 days apart they do not meet
#pragma once

#include <cstdint>

#include "consensus/limits.hpp"

namespace laird::consensus {

using Epoch = std::uint64_t;

// No 64-bit counter goes beyond this; the decoder refuses more.
inline constexpr std::uint64_t kCountMax = INT64_MAX;

// The clock gives incarnations up to 2088. Above that there is room for as many further lives.
inline constexpr std::uint32_t kIncarnationOfClockMax = 0x7FFF'FFFF;
inline constexpr std::uint32_t kIncarnationMax = 0xFFFF'FFFE;

inline constexpr std::uint32_t kVersionMax = 0xFFFF'FFFE;
inline constexpr std::uint32_t kEdgeNumberMax = 0xFFFF'FFFE;
inline constexpr std::uint32_t kSeqMax = 0xFFFF'FFFE;
inline constexpr std::uint32_t kQuorumRevisionMax = 0xFFFF'FFFE;

// A call is the caller's incarnation and, in the lowest bits, a count of its calls.
inline constexpr int kCallBits = 20;
// How far a proposer may go beyond the highest round that two keepers have named.
inline constexpr std::uint64_t kRoundStep = 1ULL << 32;
// The highest version that is believed on one member's word, where there is nobody else to ask: so
// much above the first that was known, and one more for every tick since then. A register at work
// changes less than that, however long somebody was away.
inline constexpr std::uint32_t kVersionStep = 64;
// How far the number of a founding may lie above the least that a member would take.
inline constexpr std::uint64_t kEpochStep = 1ULL << 32;

static_assert(static_cast<Wide>(kAccountsMax) * kIncarnationMax + UINT32_MAX < kCountMax,
              "the sum of all incarnations and a configured epoch must fit an epoch");
static_assert((static_cast<Wide>(kIncarnationMax) << kCallBits) < kCountMax,
              "a call must fit its width");
static_assert(kCountMax / kRoundStep >= (1ULL << 30), "no flood of messages uses the rounds up");

// Where a simulation begins to count, so that it passes 2^31 or reaches an end. Zero everywhere
// else.
struct CountersBegin {
  std::uint32_t version = 0;
  std::uint32_t edge_number = 0;
  std::uint32_t seq = 0;
  std::uint64_t round = 0;
};

}  // namespace laird::consensus
