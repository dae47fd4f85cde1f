// One end of one edge: the two cumulative counts, what is known to have arrived, and the lease.
//
// Symbols: sent = S, parts ever granted to the peer; heard = R, the largest S of the peer heard.
// Both only grow, so a message is idempotent and loss, repetition and reordering cost time, never
// shares. Invariant I1: heard here <= sent there.
#pragma once

#include <array>
#include <optional>

#include "base/time.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

using Prices = std::array<std::int64_t, kResources>;

inline constexpr TimeNs kNeverFresh = INT64_MIN / 2;

struct SentEntry {
  std::uint32_t seq = 0;
  TimeNs at = 0;
  Prices price{};
  Shares sent{};
  void archive(Archive& ar);
};

struct HeardEntry {
  std::uint32_t seq = 0;
  Shares sent{};
  void archive(Archive& ar);
};

struct Edge {
  Account peer;
  std::uint32_t edge_number = 0;
  // Closed on this side, for good: the numbers stand, nothing is said, heard or counted on it any
  // more. It goes when the register says so.
  bool closing = false;
  bool peer_dead = false;    // as the register has it
  bool peer_silent = false;  // as the keeper that told of it has it

  Shares sent{};
  Shares heard{};
  std::uint32_t seq = 0;
  std::uint32_t seq_heard = 0;
  std::uint32_t seq_acked = 0;
  TimeNs heard_at = 0;            // when the newest message arrived
  TimeNs fresh_at = kNeverFresh;  // when the newest acknowledged message was sent
  TimeNs closed_at = 0;
  Shares acked{};      // sent, as of seq_acked
  Shares reflected{};  // sent, as of the message the price heard answers

  std::uint32_t price_seq = 0;  // the message the price was heard in; 0: none yet
  Prices price{};
  std::uint8_t degree = 0;
  std::array<std::uint16_t, kResources> urgency{};
  std::uint32_t terms_seq = 0;  // first message that carried our present terms

  std::array<SentEntry, kRing> sent_ring{};
  std::array<HeardEntry, kRing> heard_ring{};

  [[nodiscard]] const SentEntry* sent_at(std::uint32_t s) const;
  // The peer's sent count that an incoming message states; nullopt when it builds on a message
  // no longer remembered, or claims what no honest peer can have sent.
  [[nodiscard]] std::optional<Shares> stated(const EdgeBody& body) const;
  // Applies an incoming message; false when it must count as not heard.
  bool hear(const EdgeBody& body, TimeNs now);
  // Fills the numbers of the next outgoing message and remembers it.
  void speak(const Prices& own, TimeNs now, EdgeBody& body);
  void archive(Archive& ar);
};

}  // namespace laird::consensus
