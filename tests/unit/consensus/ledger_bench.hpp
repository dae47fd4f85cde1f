// A few ledgers on a perfect network, for the tests of the ledger and of the register voter.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "consensus/ledger/ledger.hpp"
#include "tests/harness/unit.hpp"

namespace laird::consensus {

inline std::shared_ptr<const NeighbourGraph> graph_of(NodeId n) {
  std::vector<NodeId> ids(n);
  std::iota(ids.begin(), ids.end(), NodeId{0});
  return std::make_shared<NeighbourGraph>(ids);
}

// Every message takes one tick. Nodes can be silenced and links cut.
struct Bench {
  explicit Bench(NodeId n) : graph(graph_of(n)), silent(n, false) {
    for (NodeId i = 0; i < n; ++i) ledgers.emplace_back(config, i, 1, graph, graph, now);
  }
  void tick() {
    now += config.tick;
    std::vector<std::pair<NodeId, Outgoing>> arriving;
    arriving.swap(flight);
    Out out;
    for (const auto& [from, o] : arriving) {
      if (silent[from] || silent[o.to] || cuts.count({from, o.to}) > 0) continue;
      ledgers[o.to].on_message(from, o.message, now, out);
      post(o.to, out);
    }
    if (between) between();
    for (NodeId i = 0; i < ledgers.size(); ++i) {
      ledgers[i].on_tick(now, out);
      post(i, out);
    }
  }
  void post(NodeId from, Out& out) {
    for (Outgoing& o : out.messages) flight.emplace_back(from, std::move(o));
    out.clear();
  }
  void ticks(int count) {
    for (int k = 0; k < count; ++k) tick();
  }
  void cut(NodeId a, NodeId b) {
    cuts.insert({a, b});
    cuts.insert({b, a});
  }
  void restart_without_journal(NodeId node) {
    const std::uint32_t next = ledgers[node].account().incarnation + 1;
    ledgers[node] = Ledger(config, node, next, graph, graph, now);
  }
  // Runs until the node's first account is settled, for `most` ticks at most; returns the ticks.
  int wait_for_settlement(NodeId node, int most) {
    int waited = 0;
    while (!settled(node) && waited < most) {
      tick();
      ++waited;
    }
    return waited;
  }
  bool settled(NodeId node, std::uint32_t incarnation = 1) const {
    return std::any_of(ledgers.begin(), ledgers.end(), [&](const Ledger& l) {
      return l.registered().version != 0 && l.registered().find({node, incarnation}) == nullptr;
    });
  }
  Parts total(std::size_t r) const {
    Parts sum = 0;
    for (const Ledger& l : ledgers) sum += l.effective(now)[r];
    return sum;
  }

  // The node's answer to an old probe, which a test can deliver again later.
  Message answer_of(NodeId node) {
    Out out;
    ledgers[node].on_message(0, Message{1, 1, ProbeBody{1, 7}}, now, out);
    TEST_ASSERT_EQUAL_UINT64(1, out.messages.size());
    return out.messages[0].message;
  }

  LedgerConfig config;
  TimeNs now = kDay;
  std::function<void()> between;  // called in each tick after the messages have arrived
  std::shared_ptr<const NeighbourGraph> graph;
  std::vector<bool> silent;
  std::set<std::pair<NodeId, NodeId>> cuts;
  std::vector<Ledger> ledgers;
  std::vector<std::pair<NodeId, Outgoing>> flight;
};

inline Demand wants(Parts demand, std::uint16_t urgency = kUrgencyOne) {
  Demand d;
  d.demand = demand;
  d.urgency = urgency;
  return d;
}

// The node has left, so its process may stop, and the others come to use its share.
inline void expect_left_to_the_others(Bench& b, NodeId gone) {
  TEST_ASSERT_TRUE(b.ledgers[gone].left());
  b.silent[gone] = true;
  b.ticks(100);
  for (std::size_t r = 0; r < kResources; ++r) TEST_ASSERT_EQUAL_INT64(kWhole, b.total(r));
}

}  // namespace laird::consensus
