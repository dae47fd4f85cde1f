// What ledgers say to each other. Every kind is idempotent: repeated, reordered or late, it does
// what it did the first time or nothing.
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "consensus/account.hpp"

namespace laird::consensus {

// One per edge and tick: acknowledgement, prices and the cumulative grants of all resources.
// Prices and grants go as small differences against what the receiver is known to hold (its own
// message `ack`, and our message seq - base_age); the absolute form is for when it holds neither.
struct EdgeBody {
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;  // highest seq heard; 0: none
  bool usable = false;    // the sender's record with this edge open is held by all it must be
  bool opening = false;   // the sender has the edge as kOpening
  bool final = false;     // the sender has retired the edge: sent and heard are its last numbers
  bool has_terms = false;
  std::uint8_t degree = 0;
  std::array<std::uint16_t, kResources> urgency{};
  bool price_absolute = false;
  std::array<std::int16_t, kResources> price_code{};
  std::array<std::int64_t, kResources> price{};
  bool sent_absolute = false;
  std::uint8_t base_age = 0;  // seq - (acked message the grants are counted from); 0: none follow
  Shares sent{};              // absolute: the whole count; else what came after the base message
  Shares heard{};             // only with final

  bool operator==(const EdgeBody&) const = default;
};

struct RecordBody {
  Record record;
  bool operator==(const RecordBody&) const = default;
};
struct RecordAckBody {
  std::uint32_t version = 0;
  bool operator==(const RecordAckBody&) const = default;
};
// A settler asks a claimant for its last word on a dead account. `helpers` are the settler's own
// neighbours: they know its fate should it die before finishing.
struct PullBody {
  std::uint32_t nonce = 0;
  Account target;
  std::vector<NodeId> helpers;
  bool operator==(const PullBody&) const = default;
};
// The claimant's answer, binding until released: it accepts nothing from the target any more.
struct ClaimBody {
  std::uint32_t nonce = 0;
  Account target;
  bool none = false;     // there is no edge and there never will be
  bool certain = false;  // a later incarnation of the target has been heard
  Shares sent{};
  Shares heard{};
  Record record;  // the target's, as the claimant holds it
  bool operator==(const ClaimBody&) const = default;
};
enum class Refusal : std::uint8_t {
  kAlive,   // the target was heard within the lease
  kReborn,  // the claimant asked is itself a later incarnation
  kSettled  // the target is settled already
};
struct RefuseBody {
  std::uint32_t nonce = 0;
  Account target;
  Refusal why = Refusal::kAlive;
  std::vector<Account> absorbed;  // with kSettled: what the settler found
  std::vector<RecordEntry> frozen;
  bool operator==(const RefuseBody&) const = default;
};
// A settler lets a claimant go.
struct ReleaseBody {
  Account target;
  std::uint32_t nonce = 0;
  bool operator==(const ReleaseBody&) const = default;
};
// A claimant tells the settler it is bound to that another one asks too.
struct ContendBody {
  Account target;
  Account contender;
  std::uint32_t nonce = 0;
  bool operator==(const ContendBody&) const = default;
};
// The settlement is done: the claimant folds its edge. `adopt` gives the numbers the target had
// published for the edge, which then are the ones that count.
struct FinalBody {
  Account target;
  bool adopt = false;
  Shares sent{};   // by the target
  Shares heard{};  // by the target
  std::vector<Account> absorbed;
  std::vector<RecordEntry> frozen;
  bool operator==(const FinalBody&) const = default;
};
struct FinalAckBody {
  Account target;
  bool operator==(const FinalAckBody&) const = default;
};
// What became of the settler a claimant is bound to?
struct AskBody {
  Account settler;
  Account target;
  bool operator==(const AskBody&) const = default;
};
struct AnswerBody {
  Account settler;
  Account target;
  bool absorbed = false;  // the settler died after settling the target; else it never did
  bool operator==(const AnswerBody&) const = default;
};
// The receiver's account has been settled, or this edge of it has been dropped.
struct ClosedBody {
  std::uint32_t seq = 0;  // of the message answered
  bool operator==(const ClosedBody&) const = default;
};

using Body =
    std::variant<EdgeBody, RecordBody, RecordAckBody, PullBody, ClaimBody, RefuseBody, ReleaseBody,
                 ContendBody, FinalBody, FinalAckBody, AskBody, AnswerBody, ClosedBody>;

struct Message {
  std::uint32_t epoch = 0;             // of the founding; another epoch's messages are dropped
  std::uint32_t from_incarnation = 0;  // the sending node is named by the transport
  std::uint32_t to_incarnation = 0;    // 0: whichever lives
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
  std::vector<Account> absorbed;  // accounts whose settlement took effect in this step
  void clear() {
    messages.clear();
    absorbed.clear();
  }
};

}  // namespace laird::consensus
