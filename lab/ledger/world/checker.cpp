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

constexpr std::size_t kVersionsRemembered = 64;

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
    if (!world.honest(entry.account.node)) continue;
    const Ledger* one = world.find(entry.account);
    for (const Tie& t : entry.ties) {
      if (!world.honest(t.peer.node)) continue;
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

// What a board would hold if it knew the newest register: less than it does if a liar has closed an
// edge with it and taken what it was never given.
Shares by_the_register(const Ledger& ledger, const Register& reg) {
  const Entry* e = reg.find(ledger.account());
  if (e == nullptr) return {};
  Shares sum = e->base;
  for (const Edge& edge : ledger.edges()) {
    const Tie* t = e->tie_to(edge.peer);
    if (t == nullptr || t->edge_number != edge.edge_number) continue;
    for (std::size_t r = 0; r < kResources; ++r) sum[r] += edge.heard[r] - edge.sent[r];
  }
  return sum;
}

// What honest boards have received of liars, on edges that are open and on those that are closed:
// these have left the liar's base below nothing.
Shares from_liars(const World& world, const Ledger& newest) {
  Shares sum{};
  if (world.liars().empty()) return sum;
  // An honest account below nothing has inherited what a liar owed; it is paid by the others.
  for (const Entry& e : newest.registered().entries) {
    if (!world.honest(e.account.node)) continue;
    const Ledger* one = world.find(e.account);
    const Shares said = one == nullptr ? e.base : by_the_register(*one, newest.registered());
    const Shares held = one == nullptr ? said : one->holding();
    for (std::size_t r = 0; r < kResources; ++r) {
      sum[r] += std::max<Parts>(0, -said[r]) + std::max<Parts>(0, held[r] - said[r]);
    }
  }
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || !world.honest(b.ledger->account().node)) continue;
    for (const Edge& e : b.ledger->edges()) {
      if (world.honest(e.peer.node)) continue;
      for (std::size_t r = 0; r < kResources; ++r) {
        sum[r] += std::max<Parts>(0, e.heard[r] - e.sent[r]);
      }
    }
  }
  for (const Entry& e : newest.registered().entries) {
    if (world.honest(e.account.node)) continue;
    for (std::size_t r = 0; r < kResources; ++r) sum[r] += std::max<Parts>(0, -e.base[r]);
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
      if (!world.honest(entry.account.node) || !world.honest(t.peer.node)) continue;
      const Edge* here = edge_of(one, t.peer, t.edge_number);
      const Edge* back = edge_of(world.find(t.peer), entry.account, t.edge_number);
      if (here == nullptr || back == nullptr || one->founding_epoch() != newest.founding_epoch() ||
          world.find(t.peer)->founding_epoch() != newest.founding_epoch()) {
        continue;
      }
      for (std::size_t r = 0; r < kResources; ++r) {
        if (here->heard[r] <= back->sent[r]) continue;
        note(world, "I1: " + name(entry.account) + " heard more than " + name(t.peer) + " sent",
             here->heard[r] - back->sent[r]);
      }
    }
  }
}

// Boards that hold the same version hold the same register.
void Checker::check_agreement(const World& world) {
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || b.ledger->registered().version == 0) continue;
    if (!world.honest(b.ledger->account().node)) continue;
    const std::pair key{b.ledger->founding_epoch(), b.ledger->registered().version};
    if (b.ledger->founding_epoch() == 0) continue;
    // Three keepers of which one lies may part.
    const auto before = decided_.find({key.first, key.second - 1});
    const bool guarded =
        world.liars().empty() || (before != decided_.end() && before->second.keepers.size() > 3);
    const auto [at, first] = decided_.emplace(key, consensus::Register{});
    if (first) {
      at->second = b.ledger->registered();
    } else if (at->second != b.ledger->registered() && guarded) {
      note(world, "I6: two registers of version " + std::to_string(key.second), 1);
    }
  }
  while (decided_.size() > kVersionsRemembered) decided_.erase(decided_.begin());
}

void Checker::check(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return;
  check_agreement(world);
  check_register(world, *newest);
  Shares used = in_flight(world, *newest);
  const bool all_honest = world.liars().empty();
  const Shares overstated = from_liars(world, *newest);
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || !world.honest(b.ledger->account().node)) continue;
    const TimeNs now = world.local_time(b);
    const Shares share = b.up                   ? b.ledger->effective(now)
                         : now <= b.watchdog_at ? b.left_on
                                                : Shares{};
    const bool at_work = std::any_of(share.begin(), share.end(), [](Parts p) { return p > 0; });
    const Shares held = b.ledger->holding();
    for (std::size_t r = 0; r < kResources; ++r) {
      used[r] += share[r];
      if (held[r] < 0 && all_honest && b.up && takes_part(*b.ledger, *newest)) {
        note(world, "I2: " + name(b.ledger->account()) + " holds less than nothing", -held[r]);
      }
    }
    if (at_work && all_honest && !takes_part(*b.ledger, *newest)) {
      note(world, "I5: " + name(b.ledger->account()) + " was declared dead while at work", 1);
    }
  }
  for (std::size_t r = 0; r < kResources; ++r) {
    if (used[r] > kWhole + overstated[r]) {
      note(world, "I3: shares in use exceed the whole", used[r] - kWhole - overstated[r]);
    }
    result_.overstated_max = std::max(result_.overstated_max, used[r] - kWhole);
  }
}

std::string unsettled_business(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return "there is no register";
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr || !world.honest(b.ledger->account().node)) continue;
    const Account account = b.ledger->account();
    if (!b.up) {
      const Entry* e = newest->registered().find(account);
      if (e != nullptr) return "board " + name(account) + " is down and not settled";
    } else if (b.ledger->left() || b.ledger->leaving()) {
      continue;
    } else if (!b.ledger->entered() || b.ledger->founding_epoch() != newest->founding_epoch()) {
      return "board " + name(account) + " is not entered";
    } else if (b.ledger->fenced(world.local_time(b))) {
      return "board " + name(account) + " is fenced";
    }
  }
  return "";
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

bool there(const World& world, const Account& a, consensus::Epoch founding_epoch) {
  const Board& b = world.boards()[a.node];
  return b.up && !b.ledger->left() && b.ledger->account() == a &&
         b.ledger->founding_epoch() == founding_epoch;
}

// What keeps the fleet from settling everything, starting from this register; empty: nothing does.
std::string obstacle(const World& world, const Register& reg, consensus::Epoch founding_epoch) {
  const auto standing =
      std::count_if(reg.keepers.begin(), reg.keepers.end(),
                    [&](const Account& k) { return there(world, k, founding_epoch); });
  const bool all_up = std::all_of(world.boards().begin(), world.boards().end(), [](const Board& b) {
    return b.ledger == nullptr || (b.up && !b.ledger->left());
  });
  if (static_cast<std::size_t>(standing) < consensus::votes_needed(reg.keepers.size())) {
    return all_up ? "" : "too few keepers are left, and not every board is there";
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
