#include "lab/ledger/world/checker.hpp"

#include <algorithm>

#include "consensus/credit.hpp"

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

// The same of an account whose own books are gone, because its board has left the founding: at most
// what its neighbours' books give it, with all that is still on the way.
Shares by_its_neighbours(const World& world, const Ledger& newest, const Entry& e) {
  Shares sum = e.base;
  for (const Tie& t : e.ties) {
    const Ledger* peer = world.find(t.peer);
    const bool lies = !world.honest(t.peer.node);
    const Tie* back = newest.registered().find(t.peer)->tie_to(e.account);
    const Edge* edge = edge_of(peer, e.account, t.edge_number);
    for (std::size_t r = 0; r < kResources; ++r) {
      if (lies) {
        sum[r] += back->limit;
      } else if (edge != nullptr && peer->founding_epoch() == newest.founding_epoch()) {
        sum[r] += edge->sent[r] - edge->heard[r];
      }
    }
  }
  return sum;
}

// What the liars may have granted beyond what the register knows them to hold: the limits of their
// accounts less their bases.
Parts liars_credit(const World& world, const Register& reg, std::size_t resource) {
  Parts sum = 0;
  for (const Entry& e : reg.entries) {
    if (world.honest(e.account.node)) continue;
    sum -= e.base[resource];
    for (const Tie& t : e.ties) sum += t.limit;
  }
  return sum;
}

Shares used_by(const World& world, const Board& b) {
  const TimeNs now = world.local_time(b);
  if (b.up) return b.ledger->effective(now);
  return now <= b.watchdog_at ? b.left_on : Shares{};
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
    if (!world.honest(b.ledger->account().node) || b.ledger->founding_epoch() == 0) continue;
    const std::pair key{b.ledger->founding_epoch(), b.ledger->registered().version};
    if (b.ledger->registered().keepers.size() < 4 && !world.liars().empty())
      result_.guarded = false;
    const auto [at, first] = decided_.emplace(key, consensus::Register{});
    if (first) {
      at->second = b.ledger->registered();
    } else if (at->second != b.ledger->registered() && result_.guarded) {
      note(world, "I6: two registers of version " + std::to_string(key.second), 1);
    }
  }
  while (decided_.size() > kVersionsRemembered) decided_.erase(decided_.begin());
}

void Checker::follow_register(const World& world, const Ledger& newest) {
  const Register& now = newest.registered();
  if (newest.founding_epoch() != epoch_) {
    epoch_ = newest.founding_epoch();
    last_ = {};
    inherited_ = 0;
    owed_.clear();
  }
  if (now.version == last_.version) return;
  for (const Entry& e : last_.entries) {
    if (!world.honest(e.account.node)) continue;
    for (const Tie& t : e.ties) {
      const Entry* after = now.find(e.account);
      const Tie* left = after == nullptr ? nullptr : after->tie_to(t.peer);
      if (world.honest(t.peer.node) || (left != nullptr && left->edge_number == t.edge_number)) {
        continue;
      }
      owed_[e.account] += t.limit + last_.find(t.peer)->tie_to(e.account)->limit;
    }
  }
  inherited_ = 0;
  for (const consensus::Grave& g : now.buried) inherited_ += g.debt;
  last_ = now;
  result_.bound = std::max(result_.bound, consensus::allowance(now.living_count()));
  for (std::size_t r = 0; r < kResources; ++r) {
    const Parts credit = liars_credit(world, now, r);
    if (!result_.guarded || credit <= result_.bound + inherited_) continue;
    note(world, "I7: the liar has more credit than its base and allowance",
         credit - result_.bound - inherited_);
  }
}

// What a board holds by its own books beyond what the newest register gives it, or below nothing.
Parts Checker::check_owed(const World& world, const Ledger& newest, const Account& account,
                          std::size_t r) {
  const Entry* e = newest.registered().find(account);
  if (e == nullptr) return 0;
  const Ledger* one = world.find(account);
  if (one != nullptr && one->founding_epoch() != newest.founding_epoch()) one = nullptr;
  const Shares said = one == nullptr ? by_its_neighbours(world, newest, *e)
                                     : by_the_register(*one, newest.registered());
  const Parts below = std::max<Parts>(0, -said[r]);
  const Parts held = one == nullptr || e->dead ? 0 : std::max<Parts>(0, one->holding()[r]);
  const Parts owed = below + std::max<Parts>(0, held - std::max<Parts>(0, said[r]));
  const auto closed = owed_.find(account);
  const Parts most = inherited_ + (closed == owed_.end() ? 0 : closed->second);
  if (owed > most && result_.guarded) {
    note(world, "I2: " + name(account) + " owes more than a liar can have taken", owed - most);
  }
  return owed;
}

void Checker::check_use(const World& world, const Ledger& newest) {
  const Shares between = in_flight(world, newest);
  for (std::size_t r = 0; r < kResources; ++r) {
    Parts used = between[r];
    Parts owed = 0;
    std::size_t at_work = 0;
    for (const Board& b : world.boards()) {
      if (b.ledger == nullptr || !world.honest(b.ledger->account().node)) continue;
      const Parts share = used_by(world, b)[r];
      used += share;
      at_work += share > 0 ? 1 : 0;
      if (b.ledger->holding()[r] < 0 && world.liars().empty() && b.up &&
          takes_part(*b.ledger, newest)) {
        note(world, "I2: " + name(b.ledger->account()) + " holds less than nothing",
             -b.ledger->holding()[r]);
      }
      if (share > 0 && !takes_part(*b.ledger, newest) && result_.guarded) {
        note(world, "I5: " + name(b.ledger->account()) + " was declared dead while at work", 1);
      }
    }
    if (!world.liars().empty()) {
      for (const Entry& e : newest.registered().entries) {
        if (world.honest(e.account.node)) owed += check_owed(world, newest, e.account, r);
      }
    }
    const Parts most = kWhole + liars_credit(world, newest.registered(), r) + owed;
    if (used > most && result_.guarded) {
      note(world, "I3: shares in use exceed the whole", used - most);
    }
    // Few boards are left where the keepers are few: none of them uses more than the whole.
    if (used - between[r] > static_cast<Parts>(std::max<std::size_t>(at_work, 1)) * kWhole) {
      note(world, "I3: a board uses more than the whole", used);
    }
    if (!result_.guarded) continue;
    result_.overstated_max = std::max(result_.overstated_max, used - kWhole);
    result_.owed_max = std::max(result_.owed_max, owed);
  }
}

void Checker::check(const World& world) {
  const Ledger* newest = world.newest();
  if (newest == nullptr) return;
  check_agreement(world);
  check_register(world, *newest);
  follow_register(world, *newest);
  check_use(world, *newest);
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

std::size_t keepers_there(const World& world, const Register& reg,
                          consensus::Epoch founding_epoch) {
  return static_cast<std::size_t>(
      std::count_if(reg.keepers.begin(), reg.keepers.end(),
                    [&](const Account& k) { return there(world, k, founding_epoch); }));
}

// Whether one board alone knows this register while another one waits for word of it. In a fleet of
// four and more one member convinces only those that know it as the only keeper, and the others
// decide with it the next version that they lack only if it remembers that one, and enough keepers
// of the one before are there.
bool lost_but_to_one(const World& world, const Ledger& newest) {
  const Register& reg = newest.registered();
  const consensus::Epoch founding_epoch = newest.founding_epoch();
  const bool alone = reg.keepers.size() == 1;
  std::size_t boards = 0;
  std::size_t knowing = 0;
  bool waiting = false;
  bool bridged = false;
  for (const Board& b : world.boards()) {
    if (b.ledger == nullptr) continue;
    ++boards;
    if (!b.up || b.ledger->left()) continue;
    const bool here = b.ledger->founding_epoch() == founding_epoch;
    const Register& known = b.ledger->registered();
    const bool knows =
        here && (alone ? b.ledger->known_keepers() == reg.keepers
                       : known.version == reg.version && reg.is_keeper(b.ledger->account()));
    knowing += knows ? 1 : 0;
    waiting |= !knows;
    bridged |= here && known.version < reg.version && known.is_keeper(newest.account()) &&
               newest.remembers(known.version + 1) &&
               keepers_there(world, known, founding_epoch) >=
                   consensus::votes_needed(known.keepers.size());
  }
  return boards > 3 && waiting && knowing < consensus::kWords && !bridged;
}

bool everybody_there(const World& world) {
  return std::all_of(world.boards().begin(), world.boards().end(), [](const Board& b) {
    return b.ledger == nullptr || (b.up && !b.ledger->left());
  });
}

// What keeps the fleet from settling everything, starting from this register; empty: nothing does.
std::string obstacle(const World& world, const Register& reg, consensus::Epoch founding_epoch) {
  if (keepers_there(world, reg, founding_epoch) < consensus::votes_needed(reg.keepers.size())) {
    return everybody_there(world) ? "" : "too few keepers are left, and not every board is there";
  }
  const auto down = [&](const Account& a) {
    const Board& b = world.boards()[a.node];
    return !b.up && b.ledger->account() == a;
  };
  for (const Entry& e : reg.entries) {
    if (e.dead || !down(e.account)) continue;
    const auto silent =
        std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) { return down(t.peer); });
    if (static_cast<std::size_t>(silent) >= consensus::support_needed(e.quorum)) {
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
  if (reason.empty() && lost_but_to_one(world, *newest)) {
    return everybody_there(world)
               ? ""
               : "one board alone knows the register, and not every board is there";
  }
  for (const Account& k : reg.keepers) {
    if (!reason.empty() || !there(world, k, newest->founding_epoch())) continue;
    const Ledger& ledger = *world.boards()[k.node].ledger;
    if (ledger.voted_for() == nullptr || ledger.registered().version != reg.version) continue;
    reason = obstacle(world, *ledger.voted_for(), newest->founding_epoch());
  }
  return reason;
}

}  // namespace laird::lab
