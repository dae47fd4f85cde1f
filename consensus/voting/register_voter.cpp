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
  return !b.closings.empty() || !b.renewals.empty() || !b.wanted.empty() || b.leave ||
         b.quorum_revision != 0;
}

}  // namespace

void RegisterVoter::Pending::archive(Archive& ar) {
  ar(from);
  ar(body);
  ar(at);
  ar(relayed);
  if (!ar.since(5)) return;
  ar(by);
  ar(alike);
}

void RegisterVoter::Heard::archive(Archive& ar) {
  ar(keeper);
  ar(at);
}

void RegisterVoter::Decision::archive(Archive& ar) {
  ar(by);
  ar(value);
}

void RegisterVoter::archive(Archive& ar) {
  ar(self_);
  ballots_.archive(ar);
  ar.sequence(pending_, kRequestsMax);
  ar(news_);
  suspicions_.archive(ar);
  ar(probed_at_);
  if (ar.since(3) && !ar.since(5)) Ballots::archive_old_tally(ar);
  if (ar.since(5)) {
    ar.sequence(decisions_, kSpeakersMax);
    ar.sequence(keepers_heard_, kKeepersMax);
    ar(one_heard_ticks_);
    ar(refusals_);
  }
  if (!ar.reading()) return;
  ballots_.set_self(self_);
  suspicions_.set_self(self_);
}

void RegisterVoter::configure(const VoterTiming& timing, Epoch founding_epoch,
                              const VoterFaults& faults) {
  tick_ = timing.tick;
  founding_epoch_ = founding_epoch;
  longest_silence_ = timing.longest_silence;
  faults_ = faults;
  ballots_.configure(timing.tick, founding_epoch, faults.forgets_promises);
  suspicions_.configure(timing.tick, timing.longest_silence);
}

void RegisterVoter::begin(const Account& self, Register value, TimeNs now) {
  self_ = self;
  ballots_.begin(self);
  pending_.clear();
  decisions_.clear();
  keepers_heard_.clear();
  one_heard_ticks_ = 0;
  news_ = false;
  suspicions_.begin(self);
  probed_at_ = 0;
  if (value.version == 0) return;
  ballots_.adopt(std::move(value));
  for (const Account& k : this->value().keepers) heard_keeper(k, now);
  adopted(now);
}

void RegisterVoter::send(NodeId to, Body body, Out& out) const {
  out.send(to, founding_epoch_, self_.incarnation, std::move(body));
}

void RegisterVoter::on_tick(TimeNs now, Out& out) {
  if (!seated()) return;
  count_keepers_heard(now);
  std::erase_if(pending_, [&](const Pending& p) {
    return now - p.at > kRequestTicks * tick_ || value().past(p.from);
  });
  if (!ballots_.pursue(now, out)) propose(now, out);
  if (now - probed_at_ < kRepeatTicks * tick_) return;
  probed_at_ = now;
  relay(now, out);
  ballots_.repeat_vote(now, out);
  ballots_.pass_on(now, out);
  const ProbeBody probe{value().version, suspicions_.probe_number(now)};
  suspicions_.probe(now, [&](NodeId node) { send(node, probe, out); });
}

// --- Requests ---

std::optional<StatementBody> RegisterVoter::statement_for(const Account& account,
                                                          TimeNs now) const {
  StatementBody s;
  s.version = value().version;
  s.incarnation = account.incarnation;
  s.keepers = value().keepers;
  const Entry* e = value().find(account);
  if (e == nullptr) {
    if (!value().past(account)) return std::nullopt;
    s.dead = s.confirmed_dead = true;
    return s;
  }
  s.dead = e->dead;
  s.confirmed_dead = e->confirmed_dead;
  s.living = static_cast<std::uint32_t>(value().living_count());
  s.base = e->base;
  s.quorum = e->quorum;
  s.quorum_revision = e->quorum_revision;
  for (const Tie& t : e->ties) {
    const Entry* peer = value().find(t.peer);
    const Tie* back = peer == nullptr ? nullptr : peer->tie_to(account);
    s.ties.push_back({t.peer, t.edge_number, !value().alive(t.peer), never_answered(t.peer, now),
                      t.limit, back == nullptr ? 0 : back->limit});
  }
  return s;
}

void RegisterVoter::on_request(const Account& from, const RequestBody& body, TimeNs now, Out& out) {
  if (!seated()) return;
  note_contact(from, suspicions_.answers(body, now), now);
  if (from != self_ && body.version < value().version) {
    const Entry* e = value().find(from);
    if (value().is_keeper(from)) {
      send(from.node, DecidedBody{value()}, out);
    } else if (e == nullptr || e->changed > body.version || e->dead) {
      if (const auto s = statement_for(from, now)) send(from.node, *s, out);
    }
    ballots_.tell_version_before(from, body.version, now, out);
  }
  const Entry* e = value().find(from);
  if (value().past(from) || (e != nullptr && !has_wishes(body) && body.silent.empty())) return;
  suspicions_.note_successor(from, value(), now);
  compare_books(from, body);
  Pending* known = pending_of(from);
  // A request that a newer one has overtaken on the way is out of date.
  if (known != nullptr && !known->relayed && body.serial < known->body.serial) return;
  Pending received{from, body, now, false, 0, false};
  received.body.echo = 0;
  if (e != nullptr && !has_wishes(body)) return heed(received, now);
  if (Pending* kept = insert(std::move(received))) heed(*kept, now);
}

// What one keeper relays may be made up. It counts once another keeper has relayed the same, and
// never against what the author itself has said here.
void RegisterVoter::on_relay(const Account& by, const RelayBody& body, TimeNs now) {
  if (!seated() || !value().is_keeper(by) || body.from == self_) return;
  const Account& from = body.from;
  const Entry* e = value().find(from);
  if (value().past(from) || (e != nullptr && !has_wishes(body.request))) return;
  Pending* known = pending_of(from);
  if (known != nullptr && !known->relayed) return;
  if (known != nullptr && known->by != by.node && same_wishes(known->body, body.request)) {
    news_ |= !known->alike;
    known->alike = true;
    known->at = now;
    known->body.serial = std::max(known->body.serial, body.request.serial);
  } else if (known == nullptr || known->by == by.node ||
             known->body.serial <= body.request.serial) {
    Pending received{from, body.request, now, true, by.node, false};
    received.body.echo = 0;
    // The same keeper again with the same wishes changes nothing of what the other one said.
    received.alike = known != nullptr && known->by == by.node && known->alike &&
                     same_wishes(known->body, body.request);
    known = insert(std::move(received));
  }
  if (known == nullptr || !known->believed()) return;
  note_contact(from, false, now);
  heed(*known, now);
}

RegisterVoter::Pending* RegisterVoter::pending_of(const Account& from) {
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), from, kFromBefore);
  return at != pending_.end() && at->from == from ? &*at : nullptr;
}

const RegisterVoter::Pending* RegisterVoter::pending_of(const Account& from) const {
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), from, kFromBefore);
  return at != pending_.end() && at->from == from ? &*at : nullptr;
}

// Keeps a request in place of the author's earlier one; nullptr: there is no room.
RegisterVoter::Pending* RegisterVoter::insert(Pending received) {
  if (Pending* known = pending_of(received.from)) {
    news_ |= !same_wishes(known->body, received.body) || known->believed() != received.believed();
    *known = std::move(received);
    return known;
  }
  if (pending_.size() >= kRequestsMax) return nullptr;
  news_ = true;
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), received.from, kFromBefore);
  return &*pending_.insert(at, std::move(received));
}

// Whom the author calls silent, and whom it has closed upon, is suspected.
void RegisterVoter::heed(const Pending& p, TimeNs now) {
  const Entry* e = value().find(p.from);
  if (e == nullptr) return;
  for (const Account& a : p.body.silent) {
    if (e->tie_to(a) != nullptr) suspect(a, p.from, now);
  }
  for (const Closing& c : p.body.closings) {
    if (e->tie_to(c.peer) != nullptr) suspect(c.peer, p.from, now);
  }
}

// If both ends have closed an edge, neither can have heard more than the other has sent.
void RegisterVoter::compare_books(const Account& from, const RequestBody& body) {
  for (const Closing& mine : body.closings) {
    const Pending* other = pending_of(mine.peer);
    if (other == nullptr || other->relayed) continue;
    for (const Closing& theirs : other->body.closings) {
      if (theirs.peer != from || theirs.edge_number != mine.edge_number) continue;
      for (std::size_t r = 0; r < kResources; ++r) {
        if (mine.heard[r] <= theirs.sent[r] && theirs.heard[r] <= mine.sent[r]) continue;
        refusals_.add(Refusal::kBooks);
        break;
      }
    }
  }
}

Refusals RegisterVoter::refusals() const {
  Refusals all = refusals_;
  all.add(Refusal::kEquivocation, ballots_.equivocations());
  return all;
}

// Passes requests that are not entered yet on to whoever proposes next: the author's own link to
// that keeper may lose messages or be cut.
void RegisterVoter::relay(TimeNs now, Out& out) const {
  const Account next = ballots_.next_proposer(loses_turn(now));
  if (next == self_) return;
  for (const Pending& p : pending_) {
    if (p.relayed || p.from == next || now - p.at > tick_) continue;
    send(next.node, RelayBody{p.from, p.body}, out);
  }
}

void RegisterVoter::note_contact(const Account& from, bool answered, TimeNs now) {
  if (suspicions_.note_contact(from, answered, now)) news_ = true;
}

void RegisterVoter::suspect(const Account& account, const Account& by, TimeNs now) {
  if (suspicions_.suspect(account, by, value(), now)) news_ = true;
}

// --- Rounds ---

Ballots::LosesTurn RegisterVoter::loses_turn(TimeNs now) const {
  return [this, now](const Account& a) { return suspicions_.loses_turn(a, value(), now); };
}

// Looks whether there is something to enter, and proposes it when it is this keeper's turn.
void RegisterVoter::propose(TimeNs now, Out& out) {
  if (!news_ && !suspicions_.any() && !ballots_.has_open_business()) return;
  news_ = false;
  Register next = compose(now);
  if (next.version == value().version && !ballots_.vote_is_stuck(now)) {
    ballots_.note_not_needed();
    return take_over(now, out);
  }
  ballots_.note_needed(now);
  if (suspicions_.worth_waiting(next, closed_upon(), now) && ballots_.may_wait(now)) {
    ballots_.wait(now);
    return take_over(now, out);
  }
  if (ballots_.has_floor()) {
    start_accepting(std::move(next), now, out);
  } else if (ballots_.may_use_round_zero()) {
    ballots_.use_round_zero();
    start_accepting(std::move(next), now, out);
  } else if (ballots_.is_my_turn(now, loses_turn(now))) {
    ask_for_floor(now, out);
  }
}

void RegisterVoter::take_over(TimeNs now, Out& out) {
  if (ballots_.should_take_over(loses_turn(now))) ask_for_floor(now, out);
}

// A single keeper needs nobody's promise.
void RegisterVoter::ask_for_floor(TimeNs now, Out& out) {
  ballots_.prepare(now, out);
  const auto choice = ballots_.choice();
  if (!choice) return;
  const Register* value = bound(*choice, now);
  if (choice->free || value != nullptr) {
    start_accepting(choice->free ? compose(now) : Register(*value), now, out);
  }
}

// What a single keeper says it is locked on may be made up: this keeper proposes it only if it
// would vote for it. Otherwise it waits for more promises, until they leave it free.
const Register* RegisterVoter::bound(const Ballots::Choice& choice, TimeNs now) {
  if (choice.free) return nullptr;
  const Register* value = ballots_.offered(choice.digest);
  if (value == nullptr || value->version != this->value().version + 1) return nullptr;
  const bool own = ballots_.voted_for() != nullptr && *ballots_.voted_for() == *value;
  const std::vector<Account>& keepers = this->value().keepers;
  const bool only_two = std::any_of(keepers.begin(), keepers.end(), [&](const Account& k) {
    return k != self_ && nobody_else(k, now);
  });
  return choice.vouched || own || justified(*value, now) || (only_two && sane(*value)) ? value
                                                                                       : nullptr;
}

bool RegisterVoter::justified(const Register& proposed, TimeNs now) {
  if (faults_.trusting || faults_.untagged_closings || faults_.unjudged) return true;
  Evidence evidence;
  evidence.request = [this](const Account& a) -> const RequestBody* {
    const Pending* p = pending_of(a);
    return p != nullptr && p->believed() ? &p->body : nullptr;
  };
  evidence.may_be_dead = [this, now](const Register& candidate, const Entry& e) {
    return e.account != self_ && suspicions_.is_unresponsive(e.account, now) &&
           suspicions_.supporters(candidate, e, now) < support_needed(e.quorum);
  };
  return unjustified(value(), proposed, evidence) == nullptr;
}

void RegisterVoter::start_accepting(Register value, TimeNs now, Out& out) {
  ballots_.start_accepting(std::move(value), now, out);
  decide_if_voted(now, out);
}

void RegisterVoter::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  ballots_.on_prepare(from, body, now, out);
}

void RegisterVoter::on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out) {
  if (!ballots_.on_promise(from, body, now, out)) return;
  note_contact(from, true, now);
  const auto choice = ballots_.choice();
  if (!choice) return;
  if (!choice->free) {
    if (const Register* value = bound(*choice, now)) start_accepting(Register(*value), now, out);
    return;
  }
  Register next = compose(now);
  if (next.version == value().version || suspicions_.worth_waiting(next, closed_upon(), now)) {
    ballots_.keep_floor();
    news_ = true;
    return;
  }
  start_accepting(std::move(next), now, out);
}

void RegisterVoter::on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out) {
  const auto judge = [this, &from, now](const Register& proposed) {
    if (justified(proposed, now) || (sane(proposed) && nobody_else(from, now))) {
      return true;
    }
    refusals_.add(Refusal::kUnjustified);
    return false;
  };
  if (ballots_.on_accept(from, body, judge, now, out)) decide_if_voted(now, out);
}

void RegisterVoter::on_accepted(const Account& from, const AcceptedBody& body, TimeNs now,
                                Out& out) {
  if (body.version <= value().version && value().is_keeper(from)) {
    // Its vote was counted here already, and ours have not reached it.
    return send(from.node, DecidedBody{value()}, out);
  }
  if (body.version != value().version + 1) return;
  if (ballots_.is_accepting(body.ballot)) note_contact(from, true, now);
  ballots_.on_accepted(from, body);
  decide_if_voted(now, out);
}

void RegisterVoter::heard_keeper(const Account& from, TimeNs now) {
  if (!value().is_keeper(from)) return;
  std::erase_if(keepers_heard_, [&](const Heard& h) { return h.keeper == from; });
  if (keepers_heard_.size() >= kKeepersMax) keepers_heard_.erase(keepers_heard_.begin());
  keepers_heard_.push_back({from, now});
}

// Ticks count, not time: a keeper that was away or stood still has not listened meanwhile.
void RegisterVoter::count_keepers_heard(TimeNs now) {
  const auto heard =
      std::count_if(keepers_heard_.begin(), keepers_heard_.end(), [&](const Heard& h) {
        return h.keeper != self_ && value().is_keeper(h.keeper) && now - h.at < longest_silence_;
      });
  one_heard_ticks_ = heard == 1 ? std::min(one_heard_ticks_ + 1, long_enough()) : 0;
}

bool RegisterVoter::nobody_else(const Account& keeper, TimeNs now) const {
  const bool heard = std::any_of(keepers_heard_.begin(), keepers_heard_.end(), [&](const Heard& h) {
    return h.keeper == keeper && now - h.at < longest_silence_;
  });
  return value().keepers.size() == 3 && value().is_keeper(keeper) && seated() && heard &&
         one_heard_ticks_ >= long_enough();
}

// More than a term, in ticks.
std::uint32_t RegisterVoter::long_enough() const {
  return 1 + static_cast<std::uint32_t>(longest_silence_ / std::max<DurationNs>(tick_, 1));
}

void RegisterVoter::on_refused(const Account& from, const RefusedBody& body, TimeNs now) {
  ballots_.on_refused(from, body, now);
}

void RegisterVoter::on_decided(const Account& from, const Register& decided, std::size_t needed,
                               TimeNs now, Out& out) {
  if (decided.version <= value().version) return;
  if (!makes_the_whole(decided) && !faults_.trusting) return refusals_.add(Refusal::kRegister);
  std::erase_if(decisions_, [&](const Decision& d) { return d.by == from.node; });
  if (decisions_.size() >= kSpeakersMax) decisions_.erase(decisions_.begin());
  decisions_.push_back({from.node, decided});
  ballots_.on_decided_by(from, decided);
  decide_if_voted(now, out);
  if (decided.version <= value().version) return;
  const auto words = std::count_if(decisions_.begin(), decisions_.end(),
                                   [&](const Decision& d) { return d.value == decided; });
  if (static_cast<std::size_t>(words) < kWords && !faults_.trusting) {
    const bool near = value().version == 0 || decided.version - value().version <= kVersionStep;
    const bool enough =
        static_cast<std::size_t>(words) >= needed || (nobody_else(from, now) && near);
    if (!enough || !sane(decided)) return;
  }
  const std::vector<Account> keepers_before = value().keepers;
  const bool seated_before = seated();
  ballots_.adopt(decided);
  adopted(now);
  if (seated_before || seated()) announce(keepers_before, {}, now, out);
}

void RegisterVoter::decide_if_voted(TimeNs now, Out& out) {
  if (!ballots_.count_votes(out)) return;
  const std::vector<Account> keepers_before = value().keepers;
  std::vector<Account> informed;
  for (const Account& k : keepers_before) {
    if (k == self_ || ballots_.has_shown_lock(k)) informed.push_back(k);
  }
  ballots_.decide();
  adopted(now);
  announce(keepers_before, informed, now, out);
}

void RegisterVoter::adopted(TimeNs now) {
  news_ = true;
  std::erase_if(decisions_, [&](const Decision& d) { return d.value.version <= value().version; });
  suspicions_.on_new_version(value(), now);
}

// Sends the whole version to the keepers of both versions that may not have it, and what it says of
// an account to every other account that it changed. Every keeper does so: the accounts count the
// words of several.
void RegisterVoter::announce(const std::vector<Account>& keepers_before,
                             const std::vector<Account>& informed, TimeNs now, Out& out) const {
  std::vector<Account> keepers = keepers_before;
  const auto holds = [](const std::vector<Account>& list, const Account& a) {
    return std::find(list.begin(), list.end(), a) != list.end();
  };
  for (const Account& k : value().keepers) {
    if (!holds(keepers, k)) keepers.push_back(k);
  }
  for (const Account& k : keepers) {
    if (k != self_ && !holds(informed, k)) send(k.node, DecidedBody{value()}, out);
  }
  for (const Entry& e : value().entries) {
    if (e.changed != value().version || e.account == self_ || holds(keepers, e.account)) continue;
    if (const auto s = statement_for(e.account, now)) send(e.account.node, *s, out);
  }
}

}  // namespace laird::consensus
