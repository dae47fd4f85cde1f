// Who holds shares: an account is a node together with an incarnation. A node that loses its
// journal, or whose account was declared dead while the node was away, goes on under its next
// incarnation. The new account holds nothing at first. docs/ledger.md, "What a share is".
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "base/archive.hpp"
#include "consensus/counters.hpp"

namespace laird::consensus {

using NodeId = std::uint32_t;
using Shares = std::array<Parts, kResources>;

struct Account {
  NodeId node = 0;
  std::uint32_t incarnation = 0;  // 0: no account

  auto operator<=>(const Account&) const = default;
  [[nodiscard]] bool valid() const { return incarnation != 0; }
  void archive(Archive& ar) { ar(node, incarnation); }
};

inline void archive_shares(Archive& ar, Shares& shares) { ar(shares); }

// A counter that had 32 bits in the journal before format 5.
inline void archive_widened(Archive& ar, std::uint64_t& count) {
  if (ar.since(5)) {
    ar(count);
    return;
  }
  std::uint32_t narrow = 0;
  ar(narrow);
  count = narrow;
}

}  // namespace laird::consensus
