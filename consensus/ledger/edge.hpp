// One end of an edge between two accounts: how much either end has granted, what the peer is known
// to have received, and when the peer was last heard.
//
// Symbols: sent = S, the parts this end ever granted to the peer; claimed, the largest S of the
// peer that was heard; heard = R, what of it counts here. Both S and R only grow, so a message is
// idempotent: loss, repetition and reordering cost time, never shares. Invariant I1: heard at one
// end <= sent at the other (docs/ledger.md). R - S stays within the peer's limit, and S - R within
// this end's own (consensus/credit.hpp): what the peer claims beyond its limit counts once
// something went back.
#pragma once

#include <array>
#include <optional>

#include "base/time.hpp"
#include "consensus/message.hpp"

namespace laird::consensus {

using Prices = std::array<std::int64_t, kResources>;

inline constexpr TimeNs kNeverFresh = INT64_MIN / 2;

// A message that was sent on the edge, remembered until kRing later ones were sent.
struct SentEntry {
  std::uint32_t seq = 0;
  TimeNs at = 0;
  Prices price{};
  Shares sent{};
};

// A message that was heard on the edge, with the peer's count of grants.
struct HeardEntry {
  std::uint32_t seq = 0;
  Shares sent{};
};

struct Edge {
  Account peer;
  std::uint32_t edge_number = 0;
  // This end has closed the edge for good: its numbers stand, and nothing is sent, heard or counted
  // on it any more. The edge is removed when the register says so.
  bool closing = false;
  // This end grants nothing more on the edge and has told the keepers its numbers. That holds until
  // the register has renewed or closed the edge: the numbers may be entered at any time.
  bool frozen = false;
  bool renewed = false;      // the edge goes on from an earlier one, of which this end has heard
  bool peer_dead = false;    // according to the register
  bool peer_silent = false;  // according to the keeper that stated the edge

  Shares sent{};
  Shares heard{};
  Shares claimed{};
  Parts limit = 0;       // how much more this end may have sent than heard, by the register
  Parts peer_limit = 0;  // how much more of the peer's grants than this end's own count here
  std::uint32_t seq = 0;
  std::uint32_t seq_heard = 0;
  std::uint32_t seq_acked = 0;
  TimeNs heard_at = 0;            // when the newest message arrived
  TimeNs fresh_at = kNeverFresh;  // when the newest acknowledged message was sent
  TimeNs closed_at = 0;
  Shares acked{};      // `sent` in the message seq_acked
  Shares reflected{};  // `sent` in the message that the peer knew when it quoted its price

  std::uint32_t price_seq = 0;  // the peer's message with that price; 0: none yet
  Prices price{};
  std::uint8_t degree = 0;
  std::array<std::uint16_t, kResources> urgency{};
  std::uint32_t terms_seq = 0;  // the first message with our present degree and urgencies; 0: none

  std::array<SentEntry, kRing> sent_ring{};
  std::array<HeardEntry, kRing> heard_ring{};

  [[nodiscard]] const SentEntry* sent_at(std::uint32_t s) const;
  // The peer's count of grants according to an incoming message; nullopt if the message builds on
  // one that is no longer remembered, or claims what no honest peer can have sent.
  [[nodiscard]] std::optional<Shares> stated(const EdgeBody& body) const;
  // What this end has granted beyond what it received, of the resource of which that is most; below
  // nothing if it received more of each.
  [[nodiscard]] Parts given_most() const;
  // Counts what the peer claims, as far as the limit allows.
  void count_claims();
  // Applies an incoming message; false if the message must count as not heard.
  bool hear(const EdgeBody& body, TimeNs now);
  // Fills in the numbers of the next outgoing message and remembers the message.
  void speak(const Prices& own, TimeNs now, EdgeBody& body);
  void archive(Archive& ar);
};

}  // namespace laird::consensus
