#include "consensus/keeper.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

constexpr int kGatherTicks = 6;  // a version waits at most so long for what belongs into it
constexpr int kRepeatTicks = 1;  // between repetitions of a question to the other keepers
constexpr int kRankTicks = 8;    // how much longer the next keeper waits before it proposes
constexpr int kTwiceTicks = 3;   // after so long a question or a vote is sent twice each time
constexpr int kRoundsApartMax = 1;
constexpr int kPassOnTicks = 4;  // undecided for so long, a proposal is passed on by its voters
constexpr int kRoundTicks = 22;  // a round that gets no majority in this time is given up

constexpr auto kFromBefore = [](const auto& p, const Account& a) { return p.from < a; };

bool same_wishes(RequestBody a, const RequestBody& b) {
  a.serial = b.serial;
  a.echo = b.echo;
  return a == b;
}

bool has_wishes(const RequestBody& b) {
  return !b.closings.empty() || !b.wanted.empty() || b.leave || b.term != 0;
}

}  // namespace

void RequestBody::archive(Archive& ar) {
  ar(version);
  if (ar.since(3)) ar(serial);
  ar(members);
  ar(term);
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
  const std::uint32_t epoch = epoch_;
  const bool untagged = untagged_;
  *this = Keeper();
  configure(timing, epoch, untagged);
  self_ = self;
  if (value.version != 0) adopt(std::move(value), now);
}

void Keeper::send(NodeId to, Body body, Out& out) const {
  out.messages.push_back({to, Message{epoch_, self_.incarnation, std::move(body)}});
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
    if (e.certain && !known) certain_.push_back({e.account, now});
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
    s.dead = s.certain = true;
    return s;
  }
  s.dead = e->dead;
  s.certain = e->certain;
  s.alone = decided_.living_count() == 1;
  s.base = e->base;
  s.quorum = e->quorum;
  s.term = e->term;
  for (const Tie& t : e->ties) {
    s.ties.push_back({t.peer, t.life, !decided_.alive(t.peer), never_answered(t.peer, now)});
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
  if (p.body.term != 0) edit.set_quorum(p.from, p.body.term, p.body.quorum);
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

// The owner first, then the others in the order of their seats, without those that seem to be gone,
// further apart with every round that was contested.
DurationNs Keeper::patience(TimeNs now) const {
  const auto& seats = decided_.keepers;
  const auto owner = std::find(seats.begin(), seats.end(), decided_.owner);
  std::size_t at = owner == seats.end() ? 0 : static_cast<std::size_t>(owner - seats.begin());
  std::int64_t rank = 0;
  for (; seats[at % seats.size()] != self_; ++at) {
    if (!out_of_turn(seats[at % seats.size()], now)) ++rank;
  }
  const std::int64_t apart = 1 + std::min<std::int64_t>(round_seen_, kRoundsApartMax);
  // Whoever has the floor comes first, the owner too must wait then.
  const bool taken = promised_.round != 0 && promised_.node != self_.node &&
                     !out_of_turn(decided_.living(promised_.node), now);
  const std::int64_t floor = taken ? 1 : 0;
  return (rank * apart + floor) * kRankTicks * timing_.tick;
}

void Keeper::propose(TimeNs now, Out& out) {
  if (!fresh_ && doubts_.empty() && certain_.empty() && needed_since_ == kNever &&
      accepted_.empty()) {
    return;
  }
  fresh_ = false;
  Register next = compose(now);
  const bool open_vote = !accepted_.empty() && now - accepted_since_ > kRankTicks * timing_.tick;
  if (next.version == decided_.version && !open_vote) {
    needed_since_ = kNever;
    take_over(now, out);
    return;
  }
  if (needed_since_ == kNever) needed_since_ = open_vote ? accepted_since_ : now;
  if (ripening(next, now) && now - needed_since_ < kGatherTicks * timing_.tick) {
    held_at_ = now;
    take_over(now, out);
    return;
  }
  if (phase_ == Phase::kPrepared) {
    start_accepting(std::move(next), now, out);
  } else if (decided_.owner == self_ && accepted_.empty() && promised_.round == 0) {
    ballot_ = {0, self_.node};
    start_accepting(std::move(next), now, out);
  } else if (now - std::max(needed_since_, held_at_) >= patience(now)) {
    prepare(now, out);
  }
}

// The owner seems to be gone: the next in line asks for the floor before there is something to
// enter, so that what the death will need is not held up by it.
void Keeper::take_over(TimeNs now, Out& out) {
  if (phase_ == Phase::kIdle && majority() > 1 && decided_.owner != self_ &&
      out_of_turn(decided_.owner, now) && patience(now) == 0) {
    prepare(now, out);
  }
}

void Keeper::prepare(TimeNs now, Out& out) {
  phase_ = Phase::kPreparing;
  ballot_ = {std::max(round_seen_, promised_.round) + 1, self_.node};
  round_seen_ = ballot_.round;
  promised_ = ballot_;
  phase_since_ = now;
  votes_ = {self_};
  best_at_ = accepted_at_;
  best_ = accepted_;
  sent_at_ = 0;
  if (votes_.size() >= majority()) {
    start_accepting(best_.empty() ? compose(now) : best_.front(), now, out);
  } else {
    repeat(now, out);
  }
}

void Keeper::start_accepting(Register value, TimeNs now, Out& out) {
  phase_ = Phase::kAccepting;
  proposal_ = std::move(value);
  promised_ = accepted_at_ = ballot_;
  accepted_ = {proposal_};
  accepted_since_ = phase_since_ = now;
  tally(ballot_, self_);
  sent_at_ = 0;
  repeat(now, out);
  decide_if_voted(now, out);
}

// Where messages are lost, what the others wait for is worth a second try in the same tick.
int Keeper::copies(TimeNs since, TimeNs now) const {
  return now - since > kTwiceTicks * timing_.tick ? 2 : 1;
}

void Keeper::repeat(TimeNs now, Out& out) {
  if (sent_at_ != 0 && now - sent_at_ < kRepeatTicks * timing_.tick) return;
  sent_at_ = now;
  const auto& answered = phase_ == Phase::kPreparing ? votes_ : tally_;
  for (const Account& k : decided_.keepers) {
    if (std::find(answered.begin(), answered.end(), k) != answered.end()) continue;
    for (int copy = 0; copy < copies(phase_since_, now); ++copy) {
      if (phase_ == Phase::kPreparing) {
        send(k.node, PrepareBody{decided_.version + 1, ballot_}, out);
      } else {
        send(k.node, AcceptBody{ballot_, proposal_}, out);
      }
    }
  }
}

// A promise or a vote may be lost as well as the question for it.
void Keeper::repeat_vote(TimeNs now, Out& out) const {
  const Account proposer = decided_.living(promised_.node);
  if (phase_ != Phase::kIdle || !decided_.is_keeper(proposer) || proposer == self_ ||
      now - held_at_ >= kRankTicks * timing_.tick) {
    return;
  }
  const std::uint32_t version = decided_.version + 1;
  for (int copy = 0; copy < copies(held_at_, now); ++copy) {
    if (!accepted_.empty() && accepted_at_ == promised_) {
      send(proposer.node, AcceptedBody{version, accepted_at_}, out);
    } else if (promised_.round != 0) {
      send(proposer.node, PromiseBody{version, promised_, accepted_at_, accepted_}, out);
    }
  }
}

void Keeper::count_vote(const Account& from) {
  if (!decided_.is_keeper(from)) return;
  if (std::find(votes_.begin(), votes_.end(), from) == votes_.end()) votes_.push_back(from);
}

void Keeper::hand_over(Out& out) const {
  for (const Account& k : decided_.keepers) {
    if (std::find(votes_.begin(), votes_.end(), k) != votes_.end()) continue;
    send(k.node, DecidedBody{decided_}, out);
    send(k.node, ProbeBody{decided_.version, 0}, out);
  }
}

void Keeper::on_receipt(const Account& from, const RequestBody& body) {
  if (body.version >= decided_.version) count_vote(from);
}

Account Keeper::seat_of(NodeId node) const {
  const auto at = std::find_if(decided_.keepers.begin(), decided_.keepers.end(),
                               [&](const Account& k) { return k.node == node; });
  return at == decided_.keepers.end() ? Account{} : *at;
}

void Keeper::tally(const Ballot& ballot, const Account& voter) {
  if (!decided_.is_keeper(voter) || (!tally_.empty() && ballot < tally_at_)) return;
  if (ballot != tally_at_) tally_.clear();
  tally_at_ = ballot;
  if (std::find(tally_.begin(), tally_.end(), voter) == tally_.end()) tally_.push_back(voter);
}

// To whoever is not known to have voted for it the proposal, to the others one's own vote.
void Keeper::pass_on(TimeNs now, Out& out) const {
  if (accepted_.empty() || phase_ != Phase::kIdle || accepted_since_ == 0 ||
      now - accepted_since_ < kPassOnTicks * timing_.tick) {
    return;
  }
  for (const Account& k : decided_.keepers) {
    if (k == self_) continue;
    const bool voted =
        tally_at_ == accepted_at_ && std::find(tally_.begin(), tally_.end(), k) != tally_.end();
    if (voted) {
      send(k.node, AcceptedBody{decided_.version + 1, accepted_at_}, out);
    } else {
      send(k.node, AcceptBody{accepted_at_, accepted_.front()}, out);
    }
  }
}

// A majority has voted for what this keeper has voted for.
void Keeper::decide_if_voted(TimeNs now, Out& out) {
  if (accepted_.empty() || accepted_at_ != tally_at_ || tally_.size() < majority()) return;
  const Register before = decided_;
  const bool keeps_floor = phase_ == Phase::kAccepting && ballot_ == accepted_at_ &&
                           ballot_ == promised_ && ballot_.round != 0 &&
                           accepted_.front().keepers == decided_.keepers;
  Register value = std::move(accepted_.front());
  adopt(std::move(value), now);
  proposal_ = {};
  if (keeps_floor) phase_ = Phase::kPrepared;
  announce(before, now, out);
}

// Another one's ballot is under way: ours is over, and theirs gets time, once: one that repeats its
// question for long does not reach a majority, and another may.
void Keeper::give_way(TimeNs now) {
  if (phase_ != Phase::kIdle && ballot_ < promised_) phase_ = Phase::kIdle;
  held_at_ = now;
}

void Keeper::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  if (decided_.version >= body.version) return send(from.node, DecidedBody{decided_}, out);
  if (decided_.version + 1 < body.version) {
    RequestBody ask;
    ask.version = decided_.version;
    return send(from.node, ask, out);
  }
  if (!seated() || !decided_.is_keeper(from) || body.ballot.node != from.node) return;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) return send(from.node, RefusedBody{body.version, promised_}, out);
  if (promised_ != body.ballot) {
    promised_ = body.ballot;
    give_way(now);
  }
  send(from.node, PromiseBody{body.version, body.ballot, accepted_at_, accepted_}, out);
}

void Keeper::on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out) {
  if (phase_ != Phase::kPreparing || body.version != decided_.version + 1 ||
      body.ballot != ballot_ || !decided_.is_keeper(from)) {
    return;
  }
  if (!body.accepted.empty() && (best_.empty() || body.accepted_at > best_at_)) {
    best_at_ = body.accepted_at;
    best_ = body.accepted;
  }
  count_vote(from);
  note_contact(from, true, now);
  if (votes_.size() < majority()) return;
  if (!best_.empty()) return start_accepting(best_.front(), now, out);
  Register next = compose(now);
  if (next.version == decided_.version || ripening(next, now)) {
    phase_ = Phase::kPrepared;
    fresh_ = true;
    return;
  }
  start_accepting(std::move(next), now, out);
}

void Keeper::on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out) {
  const std::uint32_t version = body.value.version;
  if (decided_.version >= version) return send(from.node, DecidedBody{decided_}, out);
  if (decided_.version + 1 < version) {
    RequestBody ask;
    ask.version = decided_.version;
    return send(from.node, ask, out);
  }
  const Account proposer = seat_of(body.ballot.node);
  if (!seated() || !decided_.is_keeper(from) || !proposer.valid()) return;
  if (body.ballot.round == 0 && proposer != decided_.owner) return;
  round_seen_ = std::max(round_seen_, body.ballot.round);
  if (body.ballot < promised_) return send(from.node, RefusedBody{version, promised_}, out);
  if (accepted_.empty() || accepted_at_ != body.ballot) {
    promised_ = accepted_at_ = body.ballot;
    accepted_ = {body.value};
    give_way(now);
  }
  send(from.node, AcceptedBody{version, body.ballot}, out);
  // Whoever hands a proposal on has voted for it, as has whoever made it.
  tally(body.ballot, proposer);
  tally(body.ballot, from);
  tally(body.ballot, self_);
  decide_if_voted(now, out);
}

void Keeper::on_accepted(const Account& from, const AcceptedBody& body, TimeNs now, Out& out) {
  if (body.version != decided_.version + 1) return;
  if (phase_ == Phase::kAccepting && body.ballot == ballot_) note_contact(from, true, now);
  tally(body.ballot, from);
  decide_if_voted(now, out);
}

void Keeper::on_refused(const Account& from, const RefusedBody& body, TimeNs now) {
  static_cast<void>(from);
  if (phase_ == Phase::kIdle || body.version != decided_.version + 1) return;
  round_seen_ = std::max(round_seen_, body.promised.round);
  if (body.promised <= ballot_) return;
  phase_ = Phase::kIdle;
  held_at_ = now;
}

void Keeper::on_decided(const Register& value, TimeNs now) {
  if (value.version > decided_.version) adopt(value, now);
}

void Keeper::on_tick(TimeNs now, Out& out) {
  if (!seated()) return;
  std::erase_if(pending_, [&](const Pending& p) {
    return now - p.at > kRequestTicks * timing_.tick || decided_.past(p.from);
  });
  if (!accepted_.empty() && accepted_since_ == 0) accepted_since_ = now;
  if (phase_ == Phase::kPreparing || phase_ == Phase::kAccepting) {
    if (now - phase_since_ > kRoundTicks * timing_.tick) {
      phase_ = Phase::kIdle;
      held_at_ = now;
    } else {
      repeat(now, out);
    }
  } else {
    propose(now, out);
  }
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
