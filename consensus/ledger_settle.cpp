// Settlement: what a dead account held, and what was on its way to and from it, goes to one heir.
//
// The estate of a group of dead accounts is the sum of their bases plus, over every edge that
// leaves the group, what the living end granted minus what it received; edges inside cancel. A
// settler gathers those numbers as claims, each binding its giver; it needs all of them, so at most
// one settler can ever complete. The credit is part of its record before it may be spent, so the
// settler's own death finds it either settled or not, never in between. docs/ledger.md has the
// argument in full.
#include <algorithm>

#include "consensus/ledger.hpp"

namespace laird::consensus {
namespace {

constexpr int kPullEveryTicks = 2;
constexpr int kRankTicks = 6;    // how long a lower-ranked neighbour waits before settling itself
constexpr int kDoubtTicks = 10;  // without an answer for so long a claimant may be dead as well

bool carries_mass(const RecordEntry& e) { return e.status != EdgeStatus::kOpening; }
bool own_numbers(const RecordEntry& e) {
  return e.status == EdgeStatus::kFrozen || e.status == EdgeStatus::kFinal;
}

}  // namespace

const SettlementClaim* SettlementTarget::claim_of(const Account& claimant) const {
  for (const SettlementClaim& c : claims) {
    if (c.claimant == claimant) return &c;
  }
  return nullptr;
}

bool Ledger::claimable(const Edge& e, TimeNs now) const {
  if (e.status != EdgeStatus::kFrozen && e.status != EdgeStatus::kFinal) return false;
  if (!committed(e.status_version)) return false;
  // A fenced node may itself have been settled, by neighbours that have died since: it has no say.
  if (fenced(now) && !config_.faults.no_fence) return false;
  return e.certain || now - e.heard_at >= config_.lease;
}

bool Ledger::surely_dead(const Account& account) const {
  const auto& reborn = settlement_.reborn;
  if (std::find(reborn.begin(), reborn.end(), account) != reborn.end()) return true;
  const Obituary* o = obituary(account);
  return o != nullptr && o->certain;
}

bool Ledger::known_dead(const Account& account) const {
  return obituary(account) != nullptr || surely_dead(account);
}

bool Ledger::in_group(const Account& account) const {
  return std::any_of(settlement_.targets.begin(), settlement_.targets.end(),
                     [&](const SettlementTarget& t) { return t.account == account; });
}

void Ledger::settle(TimeNs now, Out& out) {
  if (settlement_.published) {
    if (committed(settlement_.version)) conclude(now, out);
  } else if (settlement_.active) {
    if (now - settlement_.since > 2 * config_.lease) {
      abort_settlement(out);
      retry_at_ = now + config_.lease / 4;
    } else if (complete(now)) {
      const Shares worth = estate();
      const bool sound = std::all_of(worth.begin(), worth.end(), [](Parts p) { return p >= 0; });
      if (!sound) {
        abort_settlement(out);
        retry_at_ = now + 2 * config_.lease;
      } else if (!fenced(now) || config_.faults.no_fence) {
        publish();
      }
    } else {
      pull_missing(now, out);
    }
  } else if (now >= retry_at_) {
    start_settlement(now);
    if (settlement_.active) pull_missing(now, out);
  }
  remind(now, out);
}

void Ledger::start_settlement(TimeNs now) {
  if (finals_.size() + kGroupMax * kEdgesMax / 2 > kFinalsMax) return;
  for (const Edge& e : edges_) {
    if (!claimable(e, now) || e.lock.settler.valid() || e.record.version == 0) continue;
    // Only a neighbour whose claim the target's record asks for may settle it.
    const RecordEntry* mine = e.record.find(self_);
    if (obituary(e.peer) != nullptr || mine == nullptr || !carries_mass(*mine)) continue;
    DurationNs rank = 0;
    for (const RecordEntry& entry : e.record.entries) {
      if (entry.peer == self_) break;
      ++rank;
    }
    if (now - e.claimable_at < rank * kRankTicks * config_.tick) continue;
    settlement_ = {};
    settlement_.active = true;
    settlement_.since = now;
    add_target(e.peer, e.certain, now);
    return;
  }
}

void Ledger::add_target(const Account& account, bool certain, TimeNs now) {
  if (settlement_.targets.size() >= kGroupMax || in_group(account) || account == self_) return;
  if (obituary(account) != nullptr) return;
  Edge* own = find(account);
  if (own != nullptr &&
      (!claimable(*own, now) || (own->lock.settler.valid() && own->lock.settler != self_))) {
    return;
  }
  SettlementTarget target;
  target.account = account;
  target.nonce = ++nonce_;
  target.certain = certain;
  target.since = now;
  if (own != nullptr) {
    own->lock = {self_, target.nonce, now, {}};
    target.certain |= own->certain;
    target.record = own->record;
    target.claims.push_back({self_, false, own->sent, own->heard});
  }
  settlement_.targets.push_back(std::move(target));
}

void Ledger::drop_target(const Account& account, Out& out) {
  if (!settlement_.targets.empty() && settlement_.targets.front().account == account) {
    return abort_settlement(out);
  }
  for (std::size_t i = 0; i < settlement_.targets.size(); ++i) {
    const SettlementTarget& t = settlement_.targets[i];
    if (t.account != account) continue;
    for (const SettlementClaim& c : t.claims) {
      if (c.claimant == self_) continue;
      send(c.claimant.node, c.claimant.incarnation, ReleaseBody{account, t.nonce}, out);
    }
    if (Edge* own = find(account); own != nullptr && own->lock.settler == self_) own->lock = {};
    settlement_.targets.erase(settlement_.targets.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

void Ledger::abort_settlement(Out& out) {
  while (settlement_.targets.size() > 1) drop_target(settlement_.targets.back().account, out);
  if (!settlement_.targets.empty()) {
    SettlementTarget first = std::move(settlement_.targets.front());
    settlement_.targets.clear();
    settlement_.targets.push_back({});
    settlement_.targets.push_back(std::move(first));
    drop_target(settlement_.targets.back().account, out);
  }
  settlement_ = {};
}

void Ledger::pull_missing(TimeNs now, Out& out) {
  if (settlement_.pulled_at != 0 && now - settlement_.pulled_at < kPullEveryTicks * config_.tick) {
    return;
  }
  settlement_.pulled_at = now;
  PullBody pull;
  for (const Edge& e : edges_) {
    if (e.status == EdgeStatus::kOpen) pull.helpers.push_back(e.peer.node);
  }
  std::vector<Account> doubtful;
  for (const SettlementTarget& t : settlement_.targets) {
    pull.target = t.account;
    pull.nonce = t.nonce;
    if (t.record.version == 0) {
      // Nobody has told its neighbours yet: the overlay is a guess good enough to ask.
      for (const NodeId node : members_->neighbours(t.account.node)) {
        if (node != self_.node) send(node, 0, pull, out);
      }
      continue;
    }
    for (const RecordEntry& e : t.record.entries) {
      if (!carries_mass(e) || e.peer == self_ || in_group(e.peer)) continue;
      if (t.claim_of(e.peer) != nullptr || obituary(e.peer) != nullptr) continue;
      if (own_numbers(e)) inquire(e.peer, out);
      if (known_dead(e.peer)) continue;
      send(e.peer.node, e.peer.incarnation, pull, out);
      if (!own_numbers(e) && now - t.since > kDoubtTicks * config_.tick) {
        doubtful.push_back(e.peer);
      }
    }
  }
  for (const Account& account : doubtful) add_target(account, false, now);
}

// Has that account been settled, and with what numbers? Its neighbours may know.
void Ledger::inquire(const Account& account, Out& out) const {
  for (const NodeId node : members_->neighbours(account.node)) {
    if (node != self_.node) send(node, 0, PullBody{0, account, {}}, out);
  }
}

// The claimant's word on one edge out of the group: from itself or, if it has been settled since,
// from what its record said when it was.
std::optional<SettlementClaim> Ledger::word_of(const SettlementTarget& t,
                                               const Account& who) const {
  if (const SettlementClaim* claim = t.claim_of(who)) return *claim;
  if (config_.faults.untagged_claims) {
    for (const SettlementClaim& c : t.claims) {
      if (c.claimant.node == who.node) return c;
    }
  }
  if (const Obituary* o = obituary(who)) {
    for (const RecordEntry& e : o->frozen) {
      if (e.peer == t.account) return SettlementClaim{who, true, e.sent, e.heard};
    }
  }
  return std::nullopt;
}

// Every edge out of the group is accounted for, and nobody in it can still be at work: by silence,
// a member has fewer neighbours that may still answer it than it needs to stay unfenced.
bool Ledger::complete(TimeNs now) const {
  for (const SettlementTarget& t : settlement_.targets) {
    if (t.record.version == 0) return false;
    std::size_t doubtful = 0;
    for (const RecordEntry& e : t.record.entries) {
      if (!carries_mass(e)) continue;
      const auto member = std::find_if(settlement_.targets.begin(), settlement_.targets.end(),
                                       [&](const auto& m) { return m.account == e.peer; });
      const bool member_of_group = member != settlement_.targets.end();
      // Settled by silence is not dead: a board cut off with the target goes on answering it.
      const bool dead = member_of_group ? member->certain : surely_dead(e.peer);
      // What a dead neighbour acknowledged keeps the target unfenced for a lease at most.
      const bool closed = t.claim_of(e.peer) != nullptr || config_.faults.untagged_claims;
      if (!closed && !(dead && now - t.since >= config_.lease)) ++doubtful;
      if (member_of_group) continue;
      const std::optional<SettlementClaim> word = word_of(t, e.peer);
      if (!word) {
        // Its numbers are known all the same, from the target's own record.
        if (!own_numbers(e)) return false;
        if (obituary(e.peer) == nullptr && now - t.since <= kDoubtTicks * config_.tick) {
          return false;
        }
        continue;
      }
      // A claimant that received more than the record's numbers say has outlived that record.
      for (std::size_t r = 0; own_numbers(e) && !word->none && r < kResources; ++r) {
        if (word->heard[r] > e.sent[r] || word->sent[r] < e.heard[r]) return false;
      }
    }
    if (!t.certain && doubtful >= t.record.quorum) return false;
  }
  return true;
}

Shares Ledger::estate() const {
  Shares worth{};
  for (const SettlementTarget& t : settlement_.targets) {
    for (std::size_t r = 0; r < kResources; ++r) worth[r] += t.record.base[r];
    for (const RecordEntry& e : t.record.entries) {
      if (!carries_mass(e) || in_group(e.peer)) continue;
      const std::optional<SettlementClaim> word = word_of(t, e.peer);
      // Of two ends that both froze the edge the one settled first has set its numbers.
      const bool theirs = word && (word->none || !own_numbers(e));
      for (std::size_t r = 0; r < kResources; ++r) {
        worth[r] += theirs           ? word->sent[r] - word->heard[r]
                    : own_numbers(e) ? e.heard[r] - e.sent[r]
                                     : 0;
      }
    }
  }
  return worth;
}

void Ledger::publish() {
  settlement_.credit = estate();
  settlement_.published = true;
  for (const SettlementTarget& t : settlement_.targets) {
    for (const Account& a : t.record.absorbed) absorbed_.push_back(a);
    absorbed_.push_back(t.account);
    const Edge* own = find(t.account);
    if (own == nullptr) continue;
    // The edge to the target ends with the settlement; its balance becomes part of the credit.
    const RecordEntry* theirs = t.record.find(self_);
    const bool adopt = theirs != nullptr && own_numbers(*theirs);
    for (std::size_t r = 0; r < kResources; ++r) {
      settlement_.credit[r] +=
          adopt ? theirs->sent[r] - theirs->heard[r] : own->heard[r] - own->sent[r];
    }
  }
  if (absorbed_.size() > kAbsorbedMax) {
    absorbed_.erase(absorbed_.begin(), absorbed_.end() - static_cast<std::ptrdiff_t>(kAbsorbedMax));
  }
  settlement_.version = ++version_;
}

Obituary Ledger::obituary_of(const SettlementTarget& t) const {
  Obituary o{t.account, t.record.absorbed, {}, t.certain};
  for (const RecordEntry& e : t.record.entries) {
    if (own_numbers(e)) o.frozen.push_back(e);
  }
  return o;
}

void Ledger::conclude(TimeNs now, Out& out) {
  for (std::size_t r = 0; r < kResources; ++r) base_[r] += settlement_.credit[r];
  for (const SettlementTarget& t : settlement_.targets) {
    if (const Edge* own = find(t.account)) erase(static_cast<std::size_t>(own - edges_.data()));
    out.absorbed.push_back(t.account);
    out.absorbed.insert(out.absorbed.end(), t.record.absorbed.begin(), t.record.absorbed.end());
    remember(obituary_of(t));
    for (const SettlementClaim& c : t.claims) {
      if (c.claimant == self_ || c.none || finals_.size() >= kFinalsMax) continue;
      PendingFinal f;
      f.to = c.claimant.node;
      f.incarnation = c.claimant.incarnation;
      f.since = now;
      f.body.target = t.account;
      f.body.absorbed = t.record.absorbed;
      f.body.frozen = obituaries_.back().frozen;
      const RecordEntry* theirs = t.record.find(c.claimant);
      if (theirs != nullptr && own_numbers(*theirs)) {
        f.body.adopt = true;
        f.body.sent = theirs->sent;
        f.body.heard = theirs->heard;
      }
      finals_.push_back(std::move(f));
    }
  }
  settlement_ = {};
}

// Repeats what must arrive in the end: notices of settlement, and questions about settlers that
// have gone quiet.
void Ledger::remind(TimeNs now, Out& out) {
  std::erase_if(finals_, [&](const PendingFinal& f) { return now - f.since > 20 * config_.lease; });
  for (PendingFinal& f : finals_) {
    if (f.sent_at != 0 && now - f.sent_at < 2 * config_.tick) continue;
    f.sent_at = now;
    send(f.to, f.incarnation, f.body, out);
  }
  for (Edge& e : edges_) {
    if (!e.lock.settler.valid() || e.lock.settler == self_) continue;
    if (now - e.lock.since < kDoubtTicks * config_.tick || ticks_ % 8 != 0) continue;
    // Still at it? One that is not, and lost its release, releases again.
    const Account holder = e.lock.settler;
    send(holder.node, holder.incarnation, ContendBody{e.peer, {}, e.lock.nonce}, out);
    if (now - e.lock.since < config_.lease) continue;
    for (const NodeId helper : e.lock.helpers) {
      if (helper == self_.node) {
        if (const Obituary* o = obituary(e.lock.settler)) {
          const auto& a = o->absorbed;
          on_answer({e.lock.settler, e.peer, std::find(a.begin(), a.end(), e.peer) != a.end()});
          return;
        }
      } else {
        send(helper, 0, AskBody{e.lock.settler, e.peer}, out);
      }
    }
  }
}

void Ledger::on_pull(const Account& from, std::uint32_t to_incarnation, const PullBody& body,
                     TimeNs now, Out& out) {
  const auto refuse = [&](const Account& target, Refusal why) {
    send(from.node, from.incarnation, RefuseBody{body.nonce, target, why, {}, {}}, out);
  };
  if (body.target.node == self_.node) {
    if (body.target == self_) refuse(self_, Refusal::kAlive);
    if (body.target.incarnation < self_.incarnation) refuse(body.target, Refusal::kReborn);
    return;
  }
  if (to_incarnation != 0 && to_incarnation < self_.incarnation) {
    if (config_.faults.untagged_claims) {
      send(from.node, from.incarnation, ClaimBody{body.nonce, body.target, true, false, {}, {}, {}},
           out);
      return;
    }
    return refuse({self_.node, to_incarnation}, Refusal::kReborn);
  }
  if (to_incarnation > self_.incarnation) return;
  Edge* e = find(body.target);
  if (body.nonce == 0 || e == nullptr) {
    if (const Obituary* o = obituary(body.target)) {
      send(from.node, from.incarnation,
           RefuseBody{body.nonce, body.target, Refusal::kSettled, o->absorbed, o->frozen}, out);
    }
    return;
  }
  const bool settling = in_group(body.target);
  if (e->status == EdgeStatus::kOpen || e->status == EdgeStatus::kOpening) {
    return refuse(body.target, Refusal::kAlive);
  }
  if (!claimable(*e, now)) return;
  if (settling || (e->lock.settler.valid() && e->lock.settler != from)) {
    if (settling) {
      on_contend(self_, {body.target, from, e->lock.nonce}, out);
      if (in_group(body.target)) return;
    } else {
      const Account holder = e->lock.settler;
      send(holder.node, holder.incarnation, ContendBody{body.target, from, e->lock.nonce}, out);
      return;
    }
  }
  if (e->lock.settler == from && body.nonce < e->lock.nonce) return;
  e->lock = {from, body.nonce, now, body.helpers};
  send(from.node, from.incarnation,
       ClaimBody{body.nonce, body.target, false, e->certain, e->sent, e->heard, e->record}, out);
}

void Ledger::on_claim(const Account& from, const ClaimBody& body, TimeNs now, Out& out) {
  static_cast<void>(now);
  const auto t = std::find_if(settlement_.targets.begin(), settlement_.targets.end(),
                              [&](const auto& m) { return m.account == body.target; });
  if (t == settlement_.targets.end() || body.nonce != t->nonce) {
    if (obituary(body.target) == nullptr && !body.none) {
      send(from.node, from.incarnation, ReleaseBody{body.target, body.nonce}, out);
    }
    return;
  }
  if (settlement_.published || t->claim_of(from) != nullptr) return;
  if (t->claims.size() >= kEdgesMax) return;
  t->claims.push_back({from, body.none, body.sent, body.heard});
  t->certain |= body.certain;
  if (body.record.version > t->record.version) t->record = body.record;
  // Whoever answers is alive, and no member of the group.
  if (in_group(from)) drop_target(from, out);
}

void Ledger::on_refuse(const Account& from, const RefuseBody& body, TimeNs now, Out& out) {
  static_cast<void>(from);
  if (!settlement_.active || settlement_.published) return;
  const bool asked = std::any_of(settlement_.targets.begin(), settlement_.targets.end(),
                                 [&](const SettlementTarget& t) { return t.nonce == body.nonce; });
  if (!asked && !(body.nonce == 0 && body.why == Refusal::kSettled)) return;
  switch (body.why) {
    case Refusal::kAlive: {
      const bool first = settlement_.targets.front().account == body.target;
      if (first) retry_at_ = now + config_.lease / 4;
      if (in_group(body.target)) drop_target(body.target, out);
      break;
    }
    case Refusal::kReborn: {
      bool needed = false;
      for (SettlementTarget& t : settlement_.targets) {
        if (t.account == body.target) t.certain = true;
        const RecordEntry* e = t.record.find(body.target);
        needed |= e != nullptr && !own_numbers(*e);
      }
      // One whose numbers the record holds need not be settled along; that may be under way.
      if (needed) {
        add_target(body.target, true, now);
      } else if (!known_dead(body.target) && settlement_.reborn.size() < kEdgesMax) {
        settlement_.reborn.push_back(body.target);
      }
      break;
    }
    case Refusal::kSettled: {
      remember({body.target, body.absorbed, body.frozen, false});
      if (in_group(body.target)) drop_target(body.target, out);
      Edge* own = find(body.target);
      for (const RecordEntry& e : body.frozen) {
        if (own != nullptr && e.peer == self_) {
          adopt_and_fold(*own, e.sent, e.heard);
          break;
        }
      }
      break;
    }
  }
}

void Ledger::on_release(const Account& from, const ReleaseBody& body) {
  Edge* e = find(body.target);
  if (e != nullptr && e->lock.settler == from && e->lock.nonce == body.nonce) e->lock = {};
}

void Ledger::on_contend(const Account& from, const ContendBody& body, Out& out) {
  const bool mine = std::any_of(
      settlement_.targets.begin(), settlement_.targets.end(),
      [&](const SettlementTarget& t) { return t.account == body.target && t.nonce == body.nonce; });
  if (mine) {
    if (!settlement_.published && body.contender.valid() && body.contender < self_) {
      abort_settlement(out);
    }
    return;
  }
  for (PendingFinal& f : finals_) {
    if (f.to == from.node && f.body.target == body.target) return;
  }
  if (obituary(body.target) != nullptr) return;
  send(from.node, from.incarnation, ReleaseBody{body.target, body.nonce}, out);
}

void Ledger::on_final(const Account& from, const FinalBody& body, Out& out) {
  Edge* e = find(body.target);
  if (e != nullptr) {
    if (e->lock.settler != from) return;
    if (body.adopt) {
      if (!adopt_and_fold(*e, body.sent, body.heard)) return;
    } else {
      fold(static_cast<std::size_t>(e - edges_.data()));
    }
    remember({body.target, body.absorbed, body.frozen, false});
  }
  send(from.node, from.incarnation, FinalAckBody{body.target}, out);
}

void Ledger::on_ask(const Account& from, const AskBody& body, Out& out) {
  const Obituary* o = obituary(body.settler);
  if (o == nullptr) return;
  const bool absorbed =
      std::find(o->absorbed.begin(), o->absorbed.end(), body.target) != o->absorbed.end();
  // A full list may have lost the entry: better no answer than a wrong one.
  if (!absorbed && o->absorbed.size() >= kAbsorbedMax) return;
  send(from.node, from.incarnation, AnswerBody{body.settler, body.target, absorbed}, out);
}

void Ledger::on_answer(const AnswerBody& body) {
  Edge* e = find(body.target);
  if (e == nullptr || e->lock.settler != body.settler) return;
  if (!body.absorbed) {
    e->lock = {};
    return;
  }
  fold(static_cast<std::size_t>(e - edges_.data()));
  remember({body.target, {}, {}, false});
}

// The target's own last numbers for the edge are the ones its settlement counted.
bool Ledger::adopt_and_fold(Edge& e, const Shares& their_sent, const Shares& their_heard) {
  for (std::size_t r = 0; r < kResources; ++r) {
    if (their_sent[r] < e.heard[r] || their_heard[r] > e.sent[r]) return false;
  }
  e.heard = their_sent;
  e.sent = their_heard;
  fold(static_cast<std::size_t>(&e - edges_.data()));
  return true;
}

}  // namespace laird::consensus
