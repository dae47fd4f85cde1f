// The messages that ledgers exchange. Every kind is idempotent: a message that arrives again, late
// or out of order does what it did the first time, or nothing. codec.hpp holds the wire form.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "consensus/register.hpp"

namespace laird::consensus {

// Sent once per edge and tick: an acknowledgement, the prices and the cumulative grants of all
// resources. Prices are differences against the price in the receiver's own message `ack`; grants
// are differences against the sender's message seq - base_age, which the receiver has acknowledged.
// The absolute forms are used while the receiver remembers no such message.
struct EdgeBody {
  std::uint32_t edge_number = 0;  // from the register; implies both accounts
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;   // the highest seq heard from the receiver; 0: none
  bool frozen = false;     // the sender grants nothing more on this edge until it is renewed
  bool has_terms = false;  // degree and urgency follow: sent until they are acknowledged
  std::uint8_t degree = 0;
  std::array<std::uint16_t, kResources> urgency{};
  bool price_absolute = false;
  std::array<std::int16_t, kResources> price_code{};
  std::array<std::int64_t, kResources> price{};
  bool sent_absolute = false;
  std::uint8_t base_age = 0;  // seq less that of the base message; 0: no grants since
  Shares sent{};              // absolute: the whole count; else the grants since the base message

  bool operator==(const EdgeBody&) const = default;
};

// Sent to a keeper: the edges the sender has closed, the neighbours it wants, and what else the
// register should enter for it. A request is complete, so the newest replaces all earlier ones.
struct RequestBody {
  std::uint32_t version = 0;          // the newest version of the register the sender knows
  std::uint32_t serial = 0;           // the sender's count of ticks
  std::uint32_t echo = 0;             // the number of the probe this answers; 0: none
  std::uint32_t quorum_revision = 0;  // of the quorum asked for; 0: none is
  std::uint8_t quorum = 0;
  bool leave = false;  // the sender uses nothing any more and closes its edges
  std::vector<NodeId> wanted;
  std::vector<Closing> closings;
  // The numbers of frozen edges: they are entered once both ends tell the same.
  std::vector<Closing> renewals;
  // Neighbours whose edges the sender will close soon, because it has not heard them.
  std::vector<Account> silent;
  bool operator==(const RequestBody&) const = default;
  void archive(Archive& ar);
};

// Sent by a keeper: what the register says of the receiver's account.
struct StatedTie {
  Account peer;
  std::uint32_t edge_number = 0;
  bool peer_dead = false;
  bool peer_silent = false;  // the keeper has probed the peer, and it never answered
  Parts limit = 0;           // of the receiver's end (credit.hpp)
  Parts peer_limit = 0;      // of the other end
  bool operator==(const StatedTie&) const = default;
  void archive(Archive& ar) {
    ar(peer);
    ar(edge_number, peer_dead, peer_silent, limit, peer_limit);
  }
};
struct StatementBody {
  std::uint32_t version = 0;
  std::uint32_t incarnation = 0;  // of the receiver
  bool dead = false;
  bool confirmed_dead = false;  // known to acknowledge nothing any more
  std::uint32_t living = 0;     // how many accounts live
  Shares base{};
  std::uint8_t quorum = 0;
  std::uint32_t quorum_revision = 0;
  std::vector<StatedTie> ties;
  std::vector<Account> keepers;
  bool operator==(const StatementBody&) const = default;
};

// Names the present keepers to an account that asked somebody else.
struct ReferBody {
  std::uint32_t version = 0;
  std::vector<Account> keepers;
  bool operator==(const ReferBody&) const = default;
};
// Asks whether the receiver lives. The receiver answers with a request that repeats the number of
// the probe. Packets may arrive long after they were sent, so only such an answer clears a
// suspicion.
struct ProbeBody {
  std::uint32_t version = 0;
  std::uint32_t question = 0;
  bool operator==(const ProbeBody&) const = default;
};

// The agreement of the keepers of the present version on the next one: voting/ballots.hpp.
struct Ballot {
  std::uint64_t round = 0;  // 0: for the owner of the present version only
  NodeId node = 0;
  auto operator<=>(const Ballot&) const = default;
  void archive(Archive& ar) {
    archive_widened(ar, round);
    ar(node);
  }
};
// What a keeper has voted for, and in which ballot last.
struct CastVote {
  Ballot ballot;
  std::uint64_t digest = 0;
  bool operator==(const CastVote&) const = default;
  void archive(Archive& ar) {
    ar(ballot);
    ar(digest);
  }
};
struct PrepareBody {
  std::uint32_t version = 0;  // the version to be agreed on
  Ballot ballot;
  bool operator==(const PrepareBody&) const = default;
};
// Sent to every keeper; the value itself goes to the proposer only.
struct PromiseBody {
  std::uint32_t version = 0;
  Ballot ballot;
  Ballot locked_at;
  std::uint64_t digest = 0;       // of the value on which the sender is locked; 0: on none
  std::vector<Register> locked;   // none or one
  std::vector<CastVote> votes{};  // the sender's on this version, the newest last
  bool operator==(const PromiseBody&) const = default;
};
struct AcceptBody {
  Ballot ballot;
  Register value;
  bool operator==(const AcceptBody&) const = default;
};
// A vote, sent to every keeper.
struct AcceptedBody {
  std::uint32_t version = 0;
  Ballot ballot;
  std::uint64_t digest = 0;  // of the value voted for
  bool locked = false;       // the sender has counted a quorum of votes for this value
  bool decided = false;      // the sender knows it as decided: locked, and bound to no ballot
  bool operator==(const AcceptedBody&) const = default;
};
struct RefusedBody {
  std::uint32_t version = 0;
  Ballot promised;
  bool operator==(const RefusedBody&) const = default;
};
struct DecidedBody {
  Register value;
  bool operator==(const DecidedBody&) const = default;
};

// The founding of a fleet, or its founding anew when the register is lost: ledger/founding.hpp.
struct RollCallBody {
  std::uint64_t call = 0;
  bool operator==(const RollCallBody&) const = default;
};
struct PresentBody {
  std::uint64_t call = 0;
  Epoch founding_epoch = 0;   // in which the sender takes part; 0: none
  std::uint32_t version = 0;  // the newest one whose keepers the sender knows; 0: none
  std::vector<Account> keepers;
  bool holds = false;  // the sender holds the register of that version, not only who keeps it
  bool operator==(const PresentBody&) const = default;
};
struct FoundBody {
  Epoch founding_epoch = 0;
  std::vector<Account> accounts;
  bool operator==(const FoundBody&) const = default;
};
// Sent to every member. `all`: the sender has counted the words of all members.
struct FoundAckBody {
  Epoch founding_epoch = 0;
  bool all = false;
  bool operator==(const FoundAckBody&) const = default;
};

// Sent from keeper to keeper: the request of another account that is not entered yet.
struct RelayBody {
  Account from;
  RequestBody request;
  bool operator==(const RelayBody&) const = default;
};

using Body = std::variant<EdgeBody, RequestBody, StatementBody, ReferBody, ProbeBody, PrepareBody,
                          PromiseBody, AcceptBody, AcceptedBody, RefusedBody, DecidedBody,
                          RollCallBody, PresentBody, FoundBody, FoundAckBody, RelayBody>;

struct Message {
  Epoch founding_epoch = 0;            // messages of another epoch are dropped
  std::uint32_t from_incarnation = 0;  // the transport names the sending node; 0: on an edge
  Body body;

  bool operator==(const Message&) const = default;
};

struct Outgoing {
  NodeId to = 0;
  Message message;
};

// What one step of a ledger sends; the caller owns it and clears it.
struct Out {
  std::vector<Outgoing> messages;
  void send(NodeId to, Epoch founding_epoch, std::uint32_t incarnation, Body body) {
    messages.push_back({to, Message{founding_epoch, incarnation, std::move(body)}});
  }
  void clear() { messages.clear(); }
};

}  // namespace laird::consensus
