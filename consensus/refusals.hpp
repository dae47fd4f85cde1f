// Why a ledger refused what a peer said, counted. A refused message changes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/archive.hpp"

namespace laird::consensus {

enum class Refusal : std::uint8_t {
  kEpoch,         // a message of another founding, or a founding that is not to be joined
  kEdge,          // an edge that the register has not given
  kEdgeNumbers,   // numbers on an edge that no honest neighbour can have sent
  kNotAKeeper,    // a keeper's message from an account without a seat
  kUnjustified,   // a proposed version that does not follow from what was heard here
  kEquivocation,  // two votes of one keeper in one ballot
  kRegister,      // a register whose bases do not make the whole
  kBooks,         // two ends of one edge whose numbers cannot both be true
};
inline constexpr std::size_t kRefusals = 8;

[[nodiscard]] constexpr std::string_view name(Refusal refusal) {
  constexpr std::array<std::string_view, kRefusals> kNames{
      "epoch",       "edge",         "edge-numbers", "not-a-keeper",
      "unjustified", "equivocation", "register",     "books"};
  return kNames[static_cast<std::size_t>(refusal)];
}

class Refusals {
 public:
  void add(Refusal refusal, std::uint64_t times = 1) {
    counts_[static_cast<std::size_t>(refusal)] += times;
  }
  [[nodiscard]] std::uint64_t of(Refusal refusal) const {
    return counts_[static_cast<std::size_t>(refusal)];
  }
  void archive(Archive& ar) { ar(counts_); }

 private:
  std::array<std::uint64_t, kRefusals> counts_{};
};

}  // namespace laird::consensus
