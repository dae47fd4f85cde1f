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

void RegisterVoter::Pending::archive(Archive& ar) {
  ar(from);
  ar(body);
  ar(at);
  ar(relayed);
}

void RegisterVoter::archive(Archive& ar) {
  ar(self_);
  ballots_.archive(ar);
  ar.sequence(pending_, kRequestsMax);
  ar(news_);
  suspicions_.archive(ar);
  ar(probed_at_);
  if (ar.since(3)) ballots_.archive_tally(ar);
  if (!ar.reading()) return;
  ballots_.set_self(self_);
  suspicions_.set_self(self_);
}

void RegisterVoter::configure(const VoterTiming& timing, std::uint32_t founding_epoch,
                              bool untagged_closings) {
  tick_ = timing.tick;
  founding_epoch_ = founding_epoch;
  untagged_closings_ = untagged_closings;
  ballots_.configure(timing.tick, founding_epoch);
  suspicions_.configure(timing.tick, timing.longest_silence);
}

void RegisterVoter::begin(const Account& self, Register value, TimeNs now) {
  self_ = self;
  ballots_.begin(self);
  pending_.clear();
  news_ = false;
  suspicions_.begin(self);
  probed_at_ = 0;
  if (value.version == 0) return;
  ballots_.adopt(std::move(value));
  adopted(now);
}

void RegisterVoter::send(NodeId to, Body body, Out& out) const {
  out.send(to, founding_epoch_, self_.incarnation, std::move(body));
}

void RegisterVoter::on_tick(TimeNs now, Out& out) {
  if (!seated()) return;
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
  s.alone = value().living_count() == 1;
  s.base = e->base;
  s.quorum = e->quorum;
  s.quorum_revision = e->quorum_revision;
  for (const Tie& t : e->ties) {
    s.ties.push_back({t.peer, t.edge_number, !value().alive(t.peer), never_answered(t.peer, now)});
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
  }
  take(from, body, false, now);
}

void RegisterVoter::on_relay(const Account& by, const RelayBody& body, TimeNs now) {
  if (!seated() || !value().is_keeper(by) || body.from == self_) return;
  note_contact(body.from, false, now);
  take(body.from, body.request, true, now);
}

void RegisterVoter::take(const Account& from, const RequestBody& body, bool relayed, TimeNs now) {
  const Entry* e = value().find(from);
  for (const Account& a : body.silent) {
    if (e != nullptr && e->tie_to(a) != nullptr) suspect(a, from, now);
  }
  if (value().past(from) || (e != nullptr && !has_wishes(body))) return;
  suspicions_.note_successor(from, value(), now);
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), from, kFromBefore);
  Pending received{from, body, now, relayed};
  received.body.echo = 0;
  if (at != pending_.end() && at->from == from) {
    // A request that a newer one has overtaken on the way is out of date.
    if (body.serial < at->body.serial) return;
    news_ |= !same_wishes(at->body, body);
    *at = std::move(received);
  } else if (pending_.size() < kRequestsMax) {
    pending_.insert(at, std::move(received));
    news_ = true;
  }
  for (const Closing& c : body.closings) {
    if (e != nullptr && e->tie_to(c.peer) != nullptr) suspect(c.peer, from, now);
  }
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

void RegisterVoter::ask_for_floor(TimeNs now, Out& out) {
  ballots_.prepare(now, out);
  if (!ballots_.promised_by_majority()) return;
  const Register* bound = ballots_.must_propose();
  start_accepting(bound == nullptr ? compose(now) : *bound, now, out);
}

void RegisterVoter::start_accepting(Register value, TimeNs now, Out& out) {
  ballots_.start_accepting(std::move(value), now, out);
  decide_if_voted(now, out);
}

void RegisterVoter::on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out) {
  ballots_.on_prepare(from, body, now, out);
}

void RegisterVoter::on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out) {
  if (!ballots_.on_promise(from, body)) return;
  note_contact(from, true, now);
  if (!ballots_.promised_by_majority()) return;
  if (const Register* bound = ballots_.must_propose()) return start_accepting(*bound, now, out);
  Register next = compose(now);
  if (next.version == value().version || suspicions_.worth_waiting(next, closed_upon(), now)) {
    ballots_.keep_floor();
    news_ = true;
    return;
  }
  start_accepting(std::move(next), now, out);
}

void RegisterVoter::on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out) {
  if (ballots_.on_accept(from, body, now, out)) decide_if_voted(now, out);
}

void RegisterVoter::on_accepted(const Account& from, const AcceptedBody& body, TimeNs now,
                                Out& out) {
  if (body.version != value().version + 1) return;
  if (ballots_.is_accepting(body.ballot)) note_contact(from, true, now);
  ballots_.tally(body.ballot, from);
  decide_if_voted(now, out);
}

void RegisterVoter::on_refused(const RefusedBody& body, TimeNs now) {
  ballots_.on_refused(body, now);
}

void RegisterVoter::on_decided(const Register& value, TimeNs now) {
  if (value.version <= ballots_.decided().version) return;
  ballots_.adopt(value);
  adopted(now);
}

void RegisterVoter::decide_if_voted(TimeNs now, Out& out) {
  if (!ballots_.voted_by_majority()) return;
  const std::vector<Account> keepers_before = value().keepers;
  ballots_.decide();
  adopted(now);
  announce(keepers_before, now, out);
}

void RegisterVoter::adopted(TimeNs now) {
  news_ = true;
  suspicions_.on_new_version(value(), now);
}

// Sends the whole version to the keepers of both versions, and to every other account that it
// changed what it says of that account.
void RegisterVoter::announce(const std::vector<Account>& keepers_before, TimeNs now,
                             Out& out) const {
  std::vector<Account> keepers = keepers_before;
  const auto informed = [&](const Account& a) {
    return std::find(keepers.begin(), keepers.end(), a) != keepers.end();
  };
  for (const Account& k : value().keepers) {
    if (!informed(k)) keepers.push_back(k);
  }
  for (const Account& k : keepers) {
    if (k != self_) send(k.node, DecidedBody{value()}, out);
  }
  for (const Entry& e : value().entries) {
    if (e.changed != value().version || e.account == self_ || informed(e.account)) continue;
    if (const auto s = statement_for(e.account, now)) send(e.account.node, *s, out);
  }
}

}  // namespace laird::consensus
