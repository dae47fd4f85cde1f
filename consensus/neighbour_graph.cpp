#include "consensus/neighbour_graph.hpp"

#include <algorithm>

#include "base/split_mix.hpp"

namespace laird::consensus {
namespace {

constexpr std::size_t kCycles = 4;
constexpr std::size_t kCompleteMax = 7;  // fleets up to this size are complete graphs

std::uint64_t mixed(std::uint64_t x) { return scrambled(x + kSplitMixStep); }

void sort_unique(std::vector<NodeId>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace

NeighbourGraph::NeighbourGraph(std::vector<NodeId> members, std::size_t cycles)
    : members_(std::move(members)) {
  sort_unique(members_);
  const std::size_t n = members_.size();
  around_.resize(n);
  if (n < 2) return;
  if (cycles == 0 && n <= kCompleteMax) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i != j) around_[i].push_back(members_[j]);
      }
    }
    return;
  }
  const std::size_t count = std::min(cycles == 0 ? kCycles : cycles, kCyclesMax);
  std::vector<std::pair<std::uint64_t, std::size_t>> order(n);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t i = 0; i < n; ++i) {
      order[i] = {mixed(mixed(c) ^ members_[i]), i};
    }
    std::sort(order.begin(), order.end());
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t a = order[k].second;
      const std::size_t b = order[(k + 1) % n].second;
      if (a == b) continue;
      around_[a].push_back(members_[b]);
      around_[b].push_back(members_[a]);
    }
  }
  for (auto& list : around_) sort_unique(list);
}

NeighbourGraph::NeighbourGraph(std::vector<NodeId> members,
                               const std::vector<std::pair<NodeId, NodeId>>& pairs)
    : members_(std::move(members)) {
  sort_unique(members_);
  around_.resize(members_.size());
  for (const auto& [a, b] : pairs) {
    const std::size_t i = index(a);
    const std::size_t j = index(b);
    if (a == b || i == members_.size() || j == members_.size()) continue;
    around_[i].push_back(b);
    around_[j].push_back(a);
  }
  for (auto& list : around_) sort_unique(list);
}

std::size_t NeighbourGraph::index(NodeId node) const {
  const auto at = std::lower_bound(members_.begin(), members_.end(), node);
  if (at == members_.end() || *at != node) return members_.size();
  return static_cast<std::size_t>(at - members_.begin());
}

bool NeighbourGraph::has(NodeId node) const { return index(node) != members_.size(); }

std::vector<NodeId> NeighbourGraph::neighbours(NodeId node) const {
  const std::size_t i = index(node);
  if (i == members_.size()) return {};
  return around_[i];
}

std::vector<std::pair<NodeId, double>> metropolis_weights(const NeighbourGraph& graph,
                                                          NodeId node) {
  const std::vector<NodeId> around = graph.neighbours(node);
  std::vector<std::pair<NodeId, double>> out;
  for (const NodeId other : around) {
    const std::size_t degree = std::max(around.size(), graph.neighbours(other).size());
    out.emplace_back(other, 1.0 / (1.0 + static_cast<double>(degree)));
  }
  return out;
}

Parts NeighbourGraph::genesis(NodeId node) const {
  const std::size_t i = index(node);
  if (i == members_.size()) return 0;
  const Parts n = static_cast<Parts>(members_.size());
  return kWhole / n + (static_cast<Parts>(i) < kWhole % n ? 1 : 0);
}

}  // namespace laird::consensus
