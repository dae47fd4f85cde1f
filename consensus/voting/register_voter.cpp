#include "consensus/voting/register_voter.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

constexpr auto kFromBefore = [](const auto& p, const Account& a) { return p.from < a; };

bool same_wishes(RequestBody a, const RequestBody& b) {
  a.serial = b.serial;
  a.echo = b.echo;
  return a == b;
}

bool has_wishes(const RequestBody& b) {
  return !b.closings.empty() || !b.wanted.empty() || b.leave || b.quorum_revision != 0;
}

}  // namespace

void RequestBody::archive(Archive& ar) {
  ar(version);
  if (ar.since(3)) ar(serial);
  ar(members);
  ar(quorum_revision);
  ar(quorum);
  ar(leave);
  std::uint32_t n = static_cast<std::uint32_t>(wanted.size());
  ar(n);
  if (ar.reading()) {
    if (n > kEdgesMax) return ar.fail();
    wanted.resize(n);
  }
  for (NodeId& w : wanted) ar(w);
  ar.sequence(closings, kEdgesMax);
  ar.sequence(silent, kEdgesMax);
}

void Keeper::Pending::archive(Archive& ar) {
  ar(from);
  ar(body);
  ar(at);
  ar(relayed);
}

void Keeper::Doubt::archive(Archive& ar) {
  ar(account);
  ar(since);
  ar(at);
  ar(by);
  ar(heard);
  ar(shared);
}

void Keeper::Timed::archive(Archive& ar) {
  ar(account);
  ar(since);
}

void Keeper::archive(Archive& ar) {
  ar(self_);
  ar(decided_);
  ar(promised_);
  ar(accepted_at_);
  ar.sequence(accepted_, 1);
  ar(accepted_since_);
  ar.bounded(phase_, Phase::kPrepared);
  ar(ballot_);
  ar(round_seen_);
  ar(proposal_);
  ar(best_at_);
  ar.sequence(best_, 1);
  ar.sequence(votes_, kKeepersMax);
  ar(phase_since_);
  ar(sent_at_);
  ar(needed_since_);
  ar(held_at_);
  ar.sequence(pending_, kRequestsMax);
  ar(fresh_);
  ar.sequence(doubts_, kAccountsMax);
  ar.sequence(certain_, kAccountsMax);
  ar.sequence(contacts_, kAccountsMax);
  ar.sequence(courted_, kEdgesMax);
  ar(probed_at_);
  if (!ar.since(3)) return;
  ar(tally_at_);
  ar.sequence(tally_, kKeepersMax);
}

void Keeper::begin(const Account& self, Register value, TimeNs now) {
  const KeeperTiming timing = timing_;
  const std::uint32_t founding_epoch = founding_epoch_;
  const bool untagged = untagged_;
  *this = Keeper();
  configure(timing, founding_epoch, untagged);
  self_ = self;
  if (value.version != 0) adopt(std::move(value), now);
}

void Keeper::send(NodeId to, Body body, Out& out) const {
  out.messages.push_back({to, Message{founding_epoch_, self_.incarnation, std::move(body)}});
}

// A promise outlives the version it was given for, also when versions in between were missed: the
// proposer counts on it until the keepers change.
void Keeper::adopt(Register value, TimeNs now) {
  if (value.keepers != decided_.keepers) promised_ = {};
  decided_ = std::move(value);
  accepted_at_ = tally_at_ = {};
  tally_.clear();
  accepted_.clear();
  accepted_since_ = 0;
  phase_ = Phase::kIdle;
  votes_.clear();
  best_.clear();
  round_seen_ = 0;
  needed_since_ = kNever;
  fresh_ = true;
  std::erase_if(certain_, [&](const Timed& t) { return decided_.find(t.account) == nullptr; });
  for (const Entry& e : decided_.entries) {
    const bool known = std::any_of(certain_.begin(), certain_.end(),
                                   [&](const Timed& t) { return t.account == e.account; });
    if (e.confirmed_dead && !known) certain_.push_back({e.account, now});
  }
  std::erase_if(doubts_, [&](const Doubt& d) { return !decided_.alive(d.account); });
}

std::optional<StatementBody> Keeper::statement_for(const Account& account, TimeNs now) const {
  StatementBody s;
  s.version = decided_.version;
  s.incarnation = account.incarnation;
  s.keepers = decided_.keepers;
  const Entry* e = decided_.find(account);
  if (e == nullptr) {
    if (!decided_.past(account)) return std::nullopt;
    s.dead = s.confirmed_dead = true;
    return s;
  }
  s.dead = e->dead;
  s.confirmed_dead = e->confirmed_dead;
  s.alone = decided_.living_count() == 1;
  s.base = e->base;
  s.quorum = e->quorum;
  s.quorum_revision = e->quorum_revision;
  for (const Tie& t : e->ties) {
    s.ties.push_back({t.peer, t.edge_number, !decided_.alive(t.peer), never_answered(t.peer, now)});
  }
  return s;
}

// To the keepers of both versions the whole, to everyone else concerned what it says of them.
void Keeper::announce(const Register& before, TimeNs now, Out& out) const {
  std::vector<Account> keepers = before.keepers;
  for (const Account& k : decided_.keepers) {
    if (!before.is_keeper(k)) keepers.push_back(k);
  }
  for (const Account& k : keepers) {
    if (k != self_) send(k.node, DecidedBody{decided_}, out);
  }
  const auto tell = [&](const Account& a) {
    if (a == self_ || std::find(keepers.begin(), keepers.end(), a) != keepers.end()) return;
    if (const auto s = statement_for(a, now)) send(a.node, *s, out);
  };
  for (const Entry& e : decided_.entries) {
    if (e.changed == decided_.version) tell(e.account);
  }
}

void Keeper::on_request(const Account& from, const RequestBody& body, TimeNs now, Out& out) {
  if (!seated()) return;
  note_contact(from, answers(body, now), now);
  if (from != self_ && body.version < decided_.version) {
    const Entry* e = decided_.find(from);
    if (decided_.is_keeper(from)) {
      send(from.node, DecidedBody{decided_}, out);
    } else if (e == nullptr || e->changed > body.version || e->dead) {
      if (const auto s = statement_for(from, now)) send(from.node, *s, out);
    }
  }
  take(from, body, false, now);
}

void Keeper::on_relay(const Account& by, const RelayBody& body, TimeNs now) {
  if (!seated() || !decided_.is_keeper(by) || body.from == self_) return;
  note_contact(body.from, false, now);
  take(body.from, body.request, true, now);
}

void Keeper::take(const Account& from, const RequestBody& body, bool relayed, TimeNs now) {
  const Entry* e = decided_.find(from);
  for (const Account& a : body.silent) {
    if (e != nullptr && e->tie_to(a) != nullptr) doubt(a, from, now);
  }
  if (decided_.past(from) || (e != nullptr && !has_wishes(body))) return;
  note_successor(from, now);
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), from, kFromBefore);
  Pending news{from, body, now, relayed};
  news.body.echo = 0;
  if (at != pending_.end() && at->from == from) {
    // What was overtaken says less.
    if (body.serial < at->body.serial) return;
    fresh_ |= !same_wishes(at->body, body);
    *at = std::move(news);
  } else if (pending_.size() < kRequestsMax) {
    pending_.insert(at, std::move(news));
    fresh_ = true;
  }
  for (const Closing& c : body.closings) {
    if (e != nullptr && e->tie_to(c.peer) != nullptr) doubt(c.peer, from, now);
  }
}

// What was asked of this keeper and is not entered is told to whoever proposes next: its own link
// to the account may be bad, or cut.
void Keeper::relay(TimeNs now, Out& out) const {
  const auto& seats = decided_.keepers;
  const auto owner = std::find(seats.begin(), seats.end(), decided_.owner);
  std::size_t at = owner == seats.end() ? 0 : static_cast<std::size_t>(owner - seats.begin());
  for (std::size_t k = 0; k < seats.size() && out_of_turn(seats[at % seats.size()], now); ++k) ++at;
  const Account& next = seats[at % seats.size()];
  if (next == self_) return;
  for (const Pending& p : pending_) {
    if (p.relayed || p.from == next || now - p.at > timing_.tick) continue;
    send(next.node, RelayBody{p.from, p.body}, out);
  }
}

// What is closed in a version is opened again in the next one at the earliest: by then it is known
// whether the other end is there.
bool Keeper::tied(const Account& a, const Account& b) const {
  const Entry* e = decided_.find(a);
  return e != nullptr && e->tie_to(b) != nullptr;
}

void Keeper::enter(RegisterEdit& edit, const Pending& p, TimeNs now) {
  if (edit.state().past(p.from)) return;
  std::vector<NodeId> wanted;
  const bool there =
      edit.state().find(p.from) == nullptr || p.body.wanted.empty() || may_open(p.from, now);
  for (const NodeId node : p.body.wanted) {
    if (there && may_open(edit.state().living(node), now)) wanted.push_back(node);
  }
  if (edit.state().find(p.from) == nullptr) {
    if (p.body.leave) return;
    if (wanted.empty()) {
      // Nobody it asked for is there: anyone will do, or it would stay out.
      for (const Entry& e : edit.state().entries) {
        if (!e.dead && e.account.node != p.from.node && may_open(e.account, now)) {
          wanted.push_back(e.account.node);
          break;
        }
      }
      // Or this keeper itself, though it is about to leave: it can once somebody has come.
      if (wanted.empty() && edit.state().alive(self_)) wanted.push_back(self_.node);
    }
    edit.enroll(p.from, wanted, p.body.members);
    return;
  }
  for (const Closing& c : p.body.closings) edit.close(p.from, c);
  if (p.body.quorum_revision != 0) edit.set_quorum(p.from, p.body.quorum_revision, p.body.quorum);
  if (p.body.leave) {
    const Entry* e = edit.state().find(p.from);
    // One that was declared dead on its way out resigns: it has read this very entry, and whoever
    // has answers nobody any more.
    if (e->dead && p.body.version >= e->changed) edit.declare_dead(p.from, true);
    return;
  }
  for (const NodeId node : wanted) {
    const Account peer = edit.state().living(node);
    if (!tied(p.from, peer)) edit.open(p.from, peer);
  }
  if (there && !p.body.wanted.empty()) find_neighbours(edit, p.from, now);
}

// Neighbours it should have are gone: others take their place, the next in the register's order.
void Keeper::find_neighbours(RegisterEdit& edit, const Account& account, TimeNs now) {
  const auto lacking = [&] {
    const Entry* e = edit.state().find(account);
    const auto there = std::count_if(e->ties.begin(), e->ties.end(),
                                     [&](const Tie& t) { return edit.state().alive(t.peer); });
    return static_cast<std::size_t>(there) < kNeighboursMin;
  };
  const std::size_t n = edit.state().entries.size();
  std::size_t at = 0;
  while (at < n && edit.state().entries[at].account < account) ++at;
  for (std::size_t k = 1; k < n && lacking(); ++k) {
    const Account other = edit.state().entries[(at + k) % n].account;
    if (edit.state().alive(other) && !tied(account, other) && may_open(other, now)) {
      edit.open(account, other);
    }
  }
}

// Only once it is known who else lives: the last one there keeps the register until somebody comes.
void Keeper::release(RegisterEdit& edit, const Pending& p) {
  const Entry* e = edit.state().find(p.from);
  if (!p.body.leave || e == nullptr || e->dead || !e->ties.empty()) return;
  if (edit.state().living_count() > 1) edit.declare_dead(p.from, true);
}

Register Keeper::compose(TimeNs now) {
  RegisterEdit edit(decided_, untagged_);
  for (const Pending& p : pending_) enter(edit, p, now);
  review_doubts(edit.state(), now);
  for (const Doubt& d : doubts_) {
    if (!gone(d.account, now) || d.account == self_) continue;
    const Entry* e = edit.state().find(d.account);
    if (e != nullptr && !e->dead && supporters(edit.state(), *e, now) < e->quorum) {
      edit.declare_dead(d.account, false);
    }
  }
  for (const Pending& p : pending_) release(edit, p);
  edit.settle(self_);
  std::vector<Account> heard{self_};
  for (const Timed& c : contacts_) {
    if (now - c.since < kRequestTicks * timing_.tick) heard.push_back(c.account);
  }
  edit.seat_keepers(heard);
  return edit.finish(self_);
}

void Keeper::on_tick(TimeNs now, Out& out) {
  if (!seated()) return;
  std::erase_if(pending_, [&](const Pending& p) {
    return now - p.at > kRequestTicks * timing_.tick || decided_.past(p.from);
  });
  pursue(now, out);
  if (now - probed_at_ < kRepeatTicks * timing_.tick) return;
  probed_at_ = now;
  relay(now, out);
  repeat_vote(now, out);
  pass_on(now, out);
  const ProbeBody probe{decided_.version, question(now)};
  for (const Doubt& d : doubts_) send(d.account.node, probe, out);
  for (const Account& a : courted_) send(a.node, probe, out);
  courted_.clear();
  std::erase_if(contacts_,
                [&](const Timed& c) { return now - c.since >= kRequestTicks * timing_.tick; });
}

}  // namespace laird::consensus
