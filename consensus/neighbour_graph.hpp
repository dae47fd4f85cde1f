// Which boards are neighbours in the ledger: every node derives the same graph from the member
// list.
//
// Source: unions of random Hamiltonian cycles are expanders (Law and Siu, 2003).
// Symbols: n members, r cycles, degree at most 2r.
// Why cycles: cycle c orders the members by a hash of (c, node). The spectral gap does not shrink
// with n, so neither the rounds nor the bytes per node grow. A member that joins or leaves changes
// three edges per cycle; in a ring with chords at fixed distances all chords would move.
// Assumptions: the orders of the cycles look random to each other. A bad graph costs rounds, never
// safety. docs/ledger.md, "Price and grant".
#pragma once

#include <vector>

#include "consensus/account.hpp"

namespace laird::consensus {

class NeighbourGraph {
 public:
  // Members in any order, duplicates dropped. `cycles` 0 picks the number by the size.
  explicit NeighbourGraph(std::vector<NodeId> members, std::size_t cycles = 0);
  // Any undirected graph over the members, for experiments: pairs of nodes.
  NeighbourGraph(std::vector<NodeId> members, const std::vector<std::pair<NodeId, NodeId>>& pairs);

  [[nodiscard]] const std::vector<NodeId>& members() const { return members_; }
  [[nodiscard]] bool has(NodeId node) const;
  // Sorted; empty for a node that is not a member.
  [[nodiscard]] std::vector<NodeId> neighbours(NodeId node) const;
  // An equal part of the whole; the first members take what does not divide.
  [[nodiscard]] Parts genesis(NodeId node) const;

 private:
  [[nodiscard]] std::size_t index(NodeId node) const;

  std::vector<NodeId> members_;              // sorted
  std::vector<std::vector<NodeId>> around_;  // neighbours by index of member
};

// Metropolis weights of a node's edges, 1 / (1 + the larger degree of the two): symmetric, and with
// what a node keeps for itself they sum to one. Both ends compute the same from the member list.
[[nodiscard]] std::vector<std::pair<NodeId, double>> metropolis_weights(const NeighbourGraph& graph,
                                                                        NodeId node);

}  // namespace laird::consensus
