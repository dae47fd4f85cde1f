// Every bound of the share ledger in one place; its waits are in timing.hpp, its counters in
// counters.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace laird::consensus {

using Parts = std::int64_t;

// A ledger counts parts of the whole budget, never watts or cores. So a new budget takes effect on
// every board at once, in proportion, without a message.
inline constexpr Parts kWhole = 1'000'000'000'000;
inline constexpr std::size_t kResources = 3;  // cpu, gpu, power

// No count, base or price is larger than this. The decoder refuses larger claims of peers, and sums
// of claims are cut off here, so that no lie of a peer makes a number overflow.
inline constexpr std::int64_t kNumberMax = INT64_MAX / 4;
__extension__ using Wide = __int128;
constexpr std::int64_t bounded(Wide value) {
  return value > kNumberMax    ? kNumberMax
         : value < -kNumberMax ? -kNumberMax
                               : static_cast<std::int64_t>(value);
}

inline constexpr std::size_t kCyclesMax = 5;  // Hamiltonian cycles the neighbour graph is made of
inline constexpr std::size_t kEdgesMax = 48;  // edges of one account, closing ones included
inline constexpr std::size_t kTiesMax = 20;   // of one account, before the register opens no more
inline constexpr std::size_t kRing = 16;      // sent and heard messages remembered per edge
inline constexpr std::size_t kNeighboursMin = 4;  // the register gives every account this many
inline constexpr std::size_t kKeepersMax = 8;     // accounts that hold the register and vote on it
inline constexpr std::size_t kAccountsMax = 16'384;  // in the register, dead ones included
inline constexpr std::size_t kRequestsMax = 16'384;  // requests a keeper holds
inline constexpr std::uint32_t kUrgencyOne = 256;    // urgency 1.0, a fixed-point number
inline constexpr std::uint32_t kUrgencyMax = 65'535;
inline constexpr std::size_t kMessageBytesMax = 2U << 20;
// A neighbour quotes no higher price than this, in either direction; more is cut off. A board
// inside its box quotes at most one whole times its urgency, and a relaying one a small multiple of
// that.
inline constexpr std::int64_t kPriceMax = 4 * static_cast<std::int64_t>(kUrgencyMax) * kWhole;

// How many members may lie at once without breaking the rules below (docs/ledger.md, "Liars").
inline constexpr std::size_t kLiarsMax = 1;
// So many members that say the same cannot all be lying.
inline constexpr std::size_t kWords = kLiarsMax + 1;
inline constexpr std::size_t kSpeakersMax = 24;  // members whose last word is remembered
// Registers for which a keeper remembers to have voted while one version was agreed on. More only
// cost time: of a value that is forgotten, too few keepers may tell that it is justified.
inline constexpr std::size_t kVotesToldMax = 8;
// Versions with an only keeper that it remembers, for keepers of the version before (Ballots).
inline constexpr std::size_t kBridgesMax = 4;

static_assert(kEdgesMax >= 2 * kCyclesMax + 2,
              "a neighbour graph's edges and some closing ones must fit");
static_assert(static_cast<std::int64_t>(kUrgencyMax) * kWhole < INT64_MAX / 64,
              "a price and a sum of prices must fit an int64");

}  // namespace laird::consensus
