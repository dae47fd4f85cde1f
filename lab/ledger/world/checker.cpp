#include "lab/ledger/world/checker.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

using consensus::Edge;
using consensus::Entry;
using consensus::kResources;
using consensus::kWhole;
using consensus::Register;
using consensus::Tie;

const Edge* edge_of(const Ledger* ledger, const Account& peer, std::uint32_t edge_number) {
  if (ledger == nullptr) return nullptr;
  for (const Edge& e : ledger->edges()) {
    if (e.peer == peer && e.edge_number == edge_number) return &e;
  }
  return nullptr;
}

std::string name(const Account& a) {
  return std::to_string(a.node) + "." + std::to_string(a.incarnation);
}

bool takes_part(const Ledger& ledger, const Ledger& newest) {
  return ledger.founding_epoch() == newest.founding_epoch() &&
         newest.registered().alive(ledger.account());
}

// The shares that were granted and not heard yet, over all edges of the register. A board that has
// left the founding epoch hears nothing any more.
Shares in_flight(const World& world, const Ledger& newest) {
  const Register& reg = newest.registered();
  Shares sum{};
  for (const Entry& entry : reg.entries) {
    const Ledger* one = world.find(entry.account);
    for (const Tie& t : entry.ties) {
      const Edge* there = edge_of(one, t.peer, t.edge_number);
      const Ledger* other = world.find(t.peer);
      const Edge* back = edge_of(other, entry.account, t.edge_number);
      if (there == nullptr || other == nullptr ||
          other->founding_epoch() != newest.founding_epoch())
        continue;
      for (std::size_t r = 0; r < kResources; ++r) {
        sum[r] += there->sent[r] - (back == nullptr ? 0 : back->heard[r]);
      }
    }
  }
  return sum;
}

}  // namespace

void Checker::note(const World& world, const std::string& what, Parts excess) {
  result_.excess_max = std::max(result_.excess_max, excess);
  if (result_.first_break.empty()) {
    result_.first_break = "tick " + std::to_string(world.tick()) + ": " + what;
  }
}

void Checker::check_register(const World& world, const Ledger& newest) {
  const Register& reg = newest.registered();
  for (std::size_t r = 0; r < kResources; ++r) {
    Parts sum = 0;
    for (const Entry& e : reg.entries) sum += e.base[r];
    if (sum != kWhole) {
      note(world, "I4: the register's bases do not make the whole",
           sum > kWhole ? sum - kWhole : kWhole - sum);
    }
  }
  for (const Entry& entry : reg.entries) {
    const Ledger* one = world.find(entry.account);
    for (const Tie& t : entry.ties) {
      const Edge* here = edge_of(one, t.peer, t.edge_number);
      const Edge* back = edge_of(world.find(t.peer), entry.account, t.edge_number);
      if (here == nullptr || back == nullptr) continue;
      for (std::size_t r = 0; r < kResources; ++r) {
        if (here->heard[r] <= back->sent[r]) continue;
        note(world, "I1: " + name(entry.account) + " heard more than " + name(t.peer) + " sent",
             here->heard[r] - back->sent[r]);
      }
    }
  }
}

void Checker::check(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return;
  check_register(world, *newest);
  Shares used = in_flight(world, *newest);
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr) continue;
    const TimeNs now = world.local_time(b);
    const Shares share = b.up                   ? b.ledger->effective(now)
                         : now <= b.watchdog_at ? b.left_on
                                                : Shares{};
    const bool at_work = std::any_of(share.begin(), share.end(), [](Parts p) { return p > 0; });
    const Shares held = b.ledger->holding();
    for (std::size_t r = 0; r < kResources; ++r) {
      used[r] += share[r];
      if (held[r] < 0 && b.up && takes_part(*b.ledger, *newest)) {
        note(world, "I2: " + name(b.ledger->account()) + " holds less than nothing", -held[r]);
      }
    }
    if (at_work && !takes_part(*b.ledger, *newest)) {
      note(world, "I5: " + name(b.ledger->account()) + " was declared dead while at work", 1);
    }
  }
  for (std::size_t r = 0; r < kResources; ++r) {
    if (used[r] > kWhole) note(world, "I3: shares in use exceed the whole", used[r] - kWhole);
  }
}

Parts stranded(const World& world, std::size_t resource) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return kWhole;
  // While there are others, what a leaving board still holds is of no use to anybody.
  const bool others = std::any_of(world.boards().begin(), world.boards().end(), [](const Board& b) {
    return b.ledger != nullptr && b.up && !b.ledger->leaving();
  });
  Parts there = 0;
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || !b.up || (others && b.ledger->leaving())) continue;
    if (!takes_part(*b.ledger, *newest)) continue;
    if (b.ledger->fenced(world.local_time(b))) continue;
    there += b.ledger->holding()[resource];
    for (const Edge& e : b.ledger->edges()) {
      if (e.closing) continue;
      const Ledger* peer = world.find(e.peer);
      const Edge* back = edge_of(peer, b.ledger->account(), e.edge_number);
      const bool up = e.peer.node < world.boards().size() && world.boards()[e.peer.node].up;
      if (!up || back == nullptr || back->closing || !takes_part(*peer, *newest)) continue;
      there += e.sent[resource] - back->heard[resource];
    }
  }
  return kWhole - there;
}

namespace {

bool there(const World& world, const Account& a, std::uint32_t founding_epoch) {
  const Board& b = world.boards()[a.node];
  return b.up && !b.ledger->left() && b.ledger->account() == a &&
         b.ledger->founding_epoch() == founding_epoch;
}

// What keeps the fleet from settling everything, starting from this register; empty: nothing does.
std::string obstacle(const World& world, const Register& reg, std::uint32_t founding_epoch) {
  const auto standing =
      std::count_if(reg.keepers.begin(), reg.keepers.end(),
                    [&](const Account& k) { return there(world, k, founding_epoch); });
  const bool all_up = std::all_of(world.boards().begin(), world.boards().end(), [](const Board& b) {
    return b.ledger == nullptr || (b.up && !b.ledger->left());
  });
  if (static_cast<std::size_t>(standing) < reg.keepers.size() / 2 + 1) {
    return all_up ? "" : "a majority of the keepers is gone, and not every board is there";
  }
  const auto down = [&](const Account& a) {
    const Board& b = world.boards()[a.node];
    return !b.up && b.ledger->account() == a;
  };
  for (const Entry& e : reg.entries) {
    if (e.dead || !down(e.account)) continue;
    const auto silent =
        std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) { return down(t.peer); });
    if (static_cast<std::size_t>(silent) >= e.quorum) {
      return "board " + std::to_string(e.account.node) +
             " stays down with a quorum of its neighbours";
    }
  }
  return "";
}

}  // namespace

std::string needs_operator(const World& world) {
  // Only the keepers of the newest register that is left can go on. A next version for which one of
  // them has voted may be decided already, so it must allow a recovery as well.
  const Ledger* newest = world.newest(true);
  if (newest == nullptr) return obstacle(world, Register{}, 0);
  const Register& reg = newest->registered();
  std::string reason = obstacle(world, reg, newest->founding_epoch());
  for (const Account& k : reg.keepers) {
    if (!reason.empty() || !there(world, k, newest->founding_epoch())) continue;
    const Ledger& ledger = *world.boards()[k.node].ledger;
    if (ledger.voted_for() == nullptr || ledger.registered().version != reg.version) continue;
    reason = obstacle(world, *ledger.voted_for(), newest->founding_epoch());
  }
  return reason;
}

}  // namespace laird::lab
