#include "lab/ledger/checker.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

using consensus::Edge;
using consensus::kResources;
using consensus::kWhole;

const Edge* edge_to(const Ledger& ledger, const Account& peer) {
  for (const Edge& e : ledger.edges()) {
    if (e.peer == peer) return &e;
  }
  return nullptr;
}

// An edge retired by one end and opened anew by the other: two lives that have nothing in common.
bool same_life(const Edge& a, const Edge& b) {
  const auto heard = [](const Edge& x, const Edge& y) {
    return x.seq_heard == 0 || x.seq_heard >= y.first_seq;
  };
  return heard(a, b) && heard(b, a);
}

std::string name(const Account& a) {
  return std::to_string(a.node) + "." + std::to_string(a.incarnation);
}

}  // namespace

void Checker::note(const World& world, const std::string& what, Parts excess) {
  result_.excess_max = std::max(result_.excess_max, excess);
  if (result_.first_break.empty()) {
    result_.first_break = "tick " + std::to_string(world.tick()) + ": " + what;
  }
}

void Checker::check(const World& world) {
  Shares used{};
  Shares created{};
  const auto visit = [&](const Ledger& ledger, bool enforced) {
    const Account self = ledger.account();
    for (std::size_t r = 0; r < kResources; ++r) created[r] += ledger.base()[r];
    for (const Edge& e : ledger.edges()) {
      if (!e.peer.valid()) continue;
      const Ledger* other = world.is_absorbed(e.peer) ? nullptr : world.find(e.peer);
      const Edge* back = other == nullptr ? nullptr : edge_to(*other, self);
      if (back != nullptr && !same_life(e, *back)) back = nullptr;
      for (std::size_t r = 0; r < kResources; ++r) {
        if (back == nullptr) {
          created[r] += e.heard[r] - e.sent[r];
          continue;
        }
        if (e.heard[r] > back->sent[r]) {
          note(world, "I1: " + name(self) + " heard more than " + name(e.peer) + " sent",
               e.heard[r] - back->sent[r]);
        }
        used[r] += e.sent[r] - back->heard[r];
      }
    }
    if (!enforced) return;
    const Shares held = ledger.holding();
    for (std::size_t r = 0; r < kResources; ++r) {
      if (held[r] < 0) note(world, "I2: " + name(self) + " holds less than nothing", -held[r]);
    }
  };
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr) continue;
    const TimeNs now = world.local_time(b);
    const Shares share = b.up                   ? b.ledger->effective(now)
                         : now <= b.watchdog_at ? b.left_on
                                                : Shares{};
    for (std::size_t r = 0; r < kResources; ++r) used[r] += share[r];
    if (!world.is_absorbed(b.ledger->account())) visit(*b.ledger, b.up);
  }
  for (const Ghost& g : world.ghosts()) {
    if (!world.is_absorbed(g.account)) visit(*g.ledger, false);
  }
  for (std::size_t r = 0; r < kResources; ++r) {
    if (used[r] > kWhole) note(world, "I3: shares in use exceed the whole", used[r] - kWhole);
    if (created[r] > kWhole) note(world, "I4: shares were created", created[r] - kWhole);
  }
  for (; absorbed_seen_ < world.absorbed().size(); ++absorbed_seen_) {
    const Account a = world.absorbed()[absorbed_seen_];
    const Board& b = world.boards()[a.node];
    if (b.ledger == nullptr || b.ledger->account() != a) continue;
    const TimeNs now = world.local_time(b);
    const bool at_work = b.up ? !b.ledger->fenced(now) : now <= b.watchdog_at;
    if (at_work) note(world, "I5: " + name(a) + " was settled while at work", 1);
  }
}

Parts stranded(const World& world, std::size_t resource) {
  Parts there = 0;
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || !b.up) continue;
    there += b.ledger->holding()[resource];
    for (const Edge& e : b.ledger->edges()) {
      if (!e.peer.valid() || e.peer.node >= world.boards().size()) continue;
      const Board& peer = world.boards()[e.peer.node];
      if (!peer.up || peer.ledger == nullptr || peer.ledger->account() != e.peer) continue;
      const Edge* back = edge_to(*peer.ledger, b.ledger->account());
      if (back != nullptr && same_life(e, *back)) there += e.sent[resource] - back->heard[resource];
    }
  }
  return kWhole - there;
}

}  // namespace laird::lab
