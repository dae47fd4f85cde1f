// Who holds shares: an account is one life of one node. A node that loses its journal, or whose
// account was settled while it was away, lives on under the next incarnation with nothing.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "base/archive.hpp"
#include "consensus/limits.hpp"

namespace laird::consensus {

using NodeId = std::uint32_t;
using Shares = std::array<Parts, kResources>;

struct Account {
  NodeId node = 0;
  std::uint32_t incarnation = 0;  // 0: nobody

  auto operator<=>(const Account&) const = default;
  [[nodiscard]] bool valid() const { return incarnation != 0; }
  void archive(Archive& ar) {
    ar(node);
    ar(incarnation);
  }
};

inline void archive_shares(Archive& ar, Shares& shares) {
  for (Parts& p : shares) ar(p);
}

// How one end sees an edge. Only kOpen edges carry grants.
enum class EdgeStatus : std::uint8_t {
  kOpening,  // proposed; no grant has moved on it
  kOpen,
  kFrozen,  // the peer fell silent or is known dead: nothing is accepted until it is heard again
  kFinal,   // retired for good with the numbers published; kept until the peer has dropped it
};

// What an account's neighbours must know to settle it when it dies: its base (genesis, inherited
// and folded edges), whom it has edges with, and the numbers of those it has frozen. Replicated to
// every open neighbour; a change takes effect once all of them hold it.
struct RecordEntry {
  Account peer;
  EdgeStatus status = EdgeStatus::kOpening;
  Shares sent{};  // of a frozen or final edge; zero otherwise
  Shares heard{};

  bool operator==(const RecordEntry&) const = default;
  void archive(Archive& ar) {
    ar(peer);
    ar.bounded(status, EdgeStatus::kFinal);
    archive_shares(ar, sent);
    archive_shares(ar, heard);
  }
};

struct Record {
  std::uint32_t version = 0;  // 0: not known
  Shares base{};
  std::uint8_t quorum = 0;
  std::vector<RecordEntry> entries;
  std::vector<Account> absorbed;  // settled into base, their claimants perhaps not yet told

  bool operator==(const Record&) const = default;
  [[nodiscard]] const RecordEntry* find(const Account& peer) const {
    for (const RecordEntry& e : entries) {
      if (e.peer == peer) return &e;
    }
    return nullptr;
  }
  void archive(Archive& ar) {
    ar(version);
    archive_shares(ar, base);
    ar(quorum);
    ar.sequence(entries, kEdgesMax);
    ar.sequence(absorbed, kAbsorbedMax);
  }
};

}  // namespace laird::consensus
