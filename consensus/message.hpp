// What ledgers say to each other. Every kind is idempotent: repeated, reordered or late, it does
// what it did the first time or nothing.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "consensus/register.hpp"

namespace laird::consensus {

// One per edge and tick: acknowledgement, prices and the cumulative grants of all resources.
// Prices and grants go as small differences against what the receiver is known to hold (its own
// message `ack`, and our message seq - base_age); the absolute form is for when it holds neither.
struct EdgeBody {
  std::uint32_t edge_number = 0;  // of the edge, from the register: names both accounts
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;  // highest seq heard; 0: none
  bool has_terms = false;
  std::uint8_t degree = 0;
  std::array<std::uint16_t, kResources> urgency{};
  bool price_absolute = false;
  std::array<std::int16_t, kResources> price_code{};
  std::array<std::int64_t, kResources> price{};
  bool sent_absolute = false;
  std::uint8_t base_age = 0;  // seq - (acked message the grants are counted from); 0: none follow
  Shares sent{};              // absolute: the whole count; else what came after the base message

  bool operator==(const EdgeBody&) const = default;
};

// To a keeper: what the sender has closed and whom it wants to be tied to. All of it, every time,
// so the newest replaces whatever came before it.
struct RequestBody {
  std::uint32_t version = 0;          // of the register, the newest the sender has heard of
  std::uint32_t serial = 0;           // grows with every tick of the sender's
  std::uint32_t echo = 0;             // the question this answers; 0: none
  std::uint32_t members = 0;          // how many the sender's member list names
  std::uint32_t quorum_revision = 0;  // of the quorum asked for
  std::uint8_t quorum = 0;
  bool leave = false;  // the sender uses nothing any more and closes all its edges
  std::vector<NodeId> wanted;
  std::vector<Closing> closings;
  std::vector<Account> silent;  // neighbours unheard for so long that they will soon be closed upon
  bool operator==(const RequestBody&) const = default;
  void archive(Archive& ar);
};

// From a keeper: what the register says of the receiver's account.
struct StatedTie {
  Account peer;
  std::uint32_t edge_number = 0;
  bool peer_dead = false;
  bool peer_silent = false;  // the keeper has asked it for some time, and heard nothing
  bool operator==(const StatedTie&) const = default;
};
struct StatementBody {
  std::uint32_t version = 0;
  std::uint32_t incarnation = 0;  // of the receiver
  bool dead = false;
  bool confirmed_dead = false;  // and known to answer nobody any more
  bool alone = false;           // no other account lives
  Shares base{};
  std::uint8_t quorum = 0;
  std::uint32_t quorum_revision = 0;
  std::vector<StatedTie> ties;
  std::vector<Account> keepers;
  bool operator==(const StatementBody&) const = default;
};

// Where to ask instead.
struct ReferBody {
  std::uint32_t version = 0;
  std::vector<Account> keepers;
  bool operator==(const ReferBody&) const = default;
};
// Are you there? Answered by a request that repeats the question: of one who may be dead only that
// shows that it is not, as packets may arrive long after they were sent.
struct ProbeBody {
  std::uint32_t version = 0;
  std::uint32_t question = 0;
  bool operator==(const ProbeBody&) const = default;
};

// Agreement on the next version among the keepers of the present one.
struct Ballot {
  std::uint32_t round = 0;  // 0: the owner of the present version, who need not ask first
  NodeId node = 0;
  auto operator<=>(const Ballot&) const = default;
  void archive(Archive& ar) {
    ar(round);
    ar(node);
  }
};
struct PrepareBody {
  std::uint32_t version = 0;  // the one to be agreed on
  Ballot ballot;
  bool operator==(const PrepareBody&) const = default;
};
struct PromiseBody {
  std::uint32_t version = 0;
  Ballot ballot;
  Ballot accepted_at;
  std::vector<Register> accepted;  // none or one
  bool operator==(const PromiseBody&) const = default;
};
struct AcceptBody {
  Ballot ballot;
  Register value;
  bool operator==(const AcceptBody&) const = default;
};
struct AcceptedBody {
  std::uint32_t version = 0;
  Ballot ballot;
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

// Founding, or founding anew when the register is lost: see founding.hpp.
struct RollCallBody {
  std::uint32_t call = 0;
  bool operator==(const RollCallBody&) const = default;
};
struct PresentBody {
  std::uint32_t call = 0;
  std::uint32_t founding_epoch = 0;  // the sender takes part in; 0: none
  std::uint32_t version = 0;         // of the register it holds; 0: none
  std::vector<Account> keepers;
  bool operator==(const PresentBody&) const = default;
};
struct FoundBody {
  std::uint32_t founding_epoch = 0;
  bool start = false;  // everyone has left what was before
  std::vector<Account> accounts;
  bool operator==(const FoundBody&) const = default;
};
struct FoundAckBody {
  std::uint32_t founding_epoch = 0;
  bool operator==(const FoundAckBody&) const = default;
};

// From keeper to keeper: what another account asks for and is not entered yet.
struct RelayBody {
  Account from;
  RequestBody request;
  bool operator==(const RelayBody&) const = default;
};

using Body = std::variant<EdgeBody, RequestBody, StatementBody, ReferBody, ProbeBody, PrepareBody,
                          PromiseBody, AcceptBody, AcceptedBody, RefusedBody, DecidedBody,
                          RollCallBody, PresentBody, FoundBody, FoundAckBody, RelayBody>;

struct Message {
  std::uint32_t founding_epoch = 0;    // of the founding; another epoch's messages are dropped
  std::uint32_t from_incarnation = 0;  // the sending node is named by the transport; 0: on an edge
  Body body;

  bool operator==(const Message&) const = default;
};

struct Outgoing {
  NodeId to = 0;
  Message message;
};

// What one step of a ledger leaves behind, besides its state.
struct Out {
  std::vector<Outgoing> messages;
  void send(NodeId to, std::uint32_t founding_epoch, std::uint32_t incarnation, Body body) {
    messages.push_back({to, Message{founding_epoch, incarnation, std::move(body)}});
  }
  void clear() { messages.clear(); }
};

}  // namespace laird::consensus
