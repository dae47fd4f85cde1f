// What a ledger requests of the keepers of the register, and how it applies their statements.
// docs/ledger.md, "The register".
#include <algorithm>

#include "consensus/ledger/ledger.hpp"

namespace laird::consensus {

void Ledger::on_register_message(const Account& from, const Message& m, TimeNs now, Out& out) {
  if (on_founding_message(from, m, now, out)) return;
  if (const auto* r = std::get_if<ReferBody>(&m.body)) {
    if (m.founding_epoch > founding_epoch_ && m.founding_epoch == founding_.promised)
      start_epoch(now);
    // Another founding has taken place, or this node knew of none.
    if (m.founding_epoch > std::max(founding_epoch_, founding_.promised)) {
      const bool knew = founding_epoch_ != 0;
      founding_epoch_ = m.founding_epoch;
      founding_ = {};
      keepers_version_ = 0;
      begin(self_.incarnation + (knew ? 1 : 0), now);
    }
    if (m.founding_epoch == founding_epoch_ && r->version > keepers_version_) {
      keepers_version_ = r->version;
      keepers_ = r->keepers;
    }
    return;
  }
  if (m.founding_epoch < founding_epoch_ && std::holds_alternative<RequestBody>(m.body)) {
    send(from.node, ReferBody{keepers_version_, keepers_}, out);
    return;
  }
  if (m.founding_epoch != founding_epoch_ || founding_epoch_ == 0) {
    ++rejected_;
    return;
  }
  if (const auto* b = std::get_if<RequestBody>(&m.body)) {
    if (released(now)) {
      voter_.on_receipt(from, *b);
      left_ = voter_.handed_over();
    }
    if (voter_.seated()) {
      voter_.on_request(from, *b, now, out);
    } else if (keepers_version_ > b->version) {
      send(from.node, ReferBody{keepers_version_, keepers_}, out);
    }
  } else if (const auto* s = std::get_if<StatementBody>(&m.body)) {
    if (s->incarnation == self_.incarnation) apply(*s, now);
  } else if (const auto* probe = std::get_if<ProbeBody>(&m.body)) {
    RequestBody answer = request(now);
    answer.echo = probe->question;
    send(from.node, std::move(answer), out);
  } else if (const auto* relayed = std::get_if<RelayBody>(&m.body)) {
    voter_.on_relay(from, *relayed, now);
  } else if (const auto* p = std::get_if<PrepareBody>(&m.body)) {
    voter_.on_prepare(from, *p, now, out);
  } else if (const auto* promise = std::get_if<PromiseBody>(&m.body)) {
    voter_.on_promise(from, *promise, now, out);
  } else if (const auto* accept = std::get_if<AcceptBody>(&m.body)) {
    voter_.on_accept(from, *accept, now, out);
  } else if (const auto* accepted = std::get_if<AcceptedBody>(&m.body)) {
    voter_.on_accepted(from, *accepted, now, out);
  } else if (const auto* refused = std::get_if<RefusedBody>(&m.body)) {
    voter_.on_refused(*refused, now);
  } else if (const auto* decided = std::get_if<DecidedBody>(&m.body)) {
    voter_.on_decided(decided->value, now);
  }
  catch_up(now);
}

void Ledger::catch_up(TimeNs now) {
  if (voter_.value().version > version_) {
    if (const auto s = voter_.statement_for(self_, now)) apply(*s, now);
  }
}

// Replaces this node's base and edges by what the register states. That never lowers the holding:
// an edge that the other end closed has ended with numbers at least as good for this end as its own
// (invariant I2).
void Ledger::apply(const StatementBody& s, TimeNs now) {
  if (s.version > keepers_version_) {
    keepers_version_ = s.version;
    keepers_ = s.keepers;
  }
  if (s.version <= version_) return;
  version_ = s.version;
  told_at_ = now;
  outside_since_ = kNever;
  behind_ = false;
  if (s.dead) {
    dead_ = true;
    // A keeper may be the only one to hold the version that releases it: it hands that over first.
    left_ = leaving_ && s.confirmed_dead && voter_.value().version < version_;
    return;
  }
  base_ = s.base;
  alone_ = s.alone;
  quorum_ = s.quorum;
  if (asked_ && s.quorum_revision > quorum_revision_) asked_ = false;
  quorum_revision_ = s.quorum_revision;
  const auto before = edges_.size();
  std::erase_if(edges_, [&](const Edge& e) {
    return std::none_of(s.ties.begin(), s.ties.end(), [&](const StatedTie& t) {
      return t.peer == e.peer && t.edge_number == e.edge_number;
    });
  });
  bool moved = edges_.size() != before;
  for (const StatedTie& t : s.ties) {
    newest_edge_told_ = std::max(newest_edge_told_, t.edge_number);
    auto at = std::find_if(edges_.begin(), edges_.end(), [&](const Edge& e) {
      return t.peer == e.peer && t.edge_number == e.edge_number;
    });
    if (at == edges_.end()) {
      if (edges_.size() >= kEdgesMax) continue;
      Edge& e = edges_.emplace_back();
      e.peer = t.peer;
      e.edge_number = t.edge_number;
      e.heard_at = now;
      e.peer_dead = t.peer_dead;
      e.peer_silent = t.peer_silent;
      moved = true;
    } else {
      at->peer_dead = t.peer_dead;
      at->peer_silent = t.peer_silent;
    }
  }
  if (moved) {
    for (Edge& e : edges_) e.terms_seq = 0;
  }
}

DurationNs Ledger::silence_max(const Edge& e, TimeNs now) const {
  const bool unheard = e.seq_heard == 0 && e.edge_number != 0;
  if (!unheard) return silence_limit();
  // The peer may have died between the proposal of the edge and its decision.
  const bool silent = e.peer_silent || voter_.never_answered(e.peer, now);
  return silent ? 0 : std::min(silence_limit(), kNeverHeardTicks * config_.tick);
}

// A closing is reported only when nothing that this end has acknowledged can still keep the peer
// unfenced (invariant I5). An end that never heard the peer has acknowledged nothing.
bool Ledger::may_report_closing(const Edge& e, TimeNs now) const {
  return e.closing && (e.peer_dead || e.seq_heard == 0 || now - e.heard_at >= silence_limit());
}

// The quorum follows the number of open edges. Until the register has entered a new quorum, the
// greater of the old and the new one is in force here, so the register never counts with a greater
// quorum than this node keeps to.
void Ledger::review_quorum() {
  if (asked_ || version_ == 0) return;
  const auto open = static_cast<std::size_t>(std::count_if(
      edges_.begin(), edges_.end(), [](const Edge& e) { return !e.closing && !e.peer_dead; }));
  const std::uint8_t wanted =
      alone_ ? std::uint8_t{0} : quorum_for(members_->members().size(), open);
  if (wanted == quorum_) return;
  quorum_next_ = wanted;
  asked_ = true;
}

RequestBody Ledger::request(TimeNs now) const {
  RequestBody body;
  body.version = version_;
  body.serial = static_cast<std::uint32_t>(ticks_);
  body.members = static_cast<std::uint32_t>(members_->members().size());
  if (resigning()) {
    body.leave = true;
    return body;
  }
  if (asked_) {
    body.quorum_revision = quorum_revision_ + 1;
    body.quorum = quorum_next_;
  }
  for (const Edge& e : edges_) {
    if (may_report_closing(e, now))
      body.closings.push_back({e.peer, e.edge_number, e.sent, e.heard});
    const DurationNs limit = silence_max(e, now);
    const DurationNs early = suspicion_lead(limit, config_.tick);
    if (!e.closing && now - e.heard_at >= limit - early) body.silent.push_back(e.peer);
  }
  body.leave = leaving_;
  if (leaving_) return body;
  for (const NodeId node : members_->neighbours(self_.node)) {
    const bool there = std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
      return e.peer.node == node && !e.closing;
    });
    if (!there && body.wanted.size() < kEdgesMax) body.wanted.push_back(node);
  }
  return body;
}

void Ledger::ask(TimeNs now, Out& out) {
  const RequestBody body = request(now);
  const bool urgent = version_ == 0 || !body.closings.empty() || asked_ || body.leave;
  if (!urgent) {
    urgent_since_ = kNever;
  } else if (urgent_since_ == kNever) {
    urgent_since_ = now;
  }
  const DurationNs since = urgent ? now - urgent_since_ : 0;
  const bool register_moves = now - told_at_ < register_patience(config_.lease);
  const bool news = behind_ || !body.silent.empty();
  behind_ = false;
  const DurationNs interval =
      urgent ? (since < kUrgentTicks * config_.tick ? 1 : kPatientTicks) * config_.tick
      : news ? config_.tick
      : body.wanted.empty() ? reminder_interval(silence_limit())
                            : (register_moves ? kWantedTicks : kSeldomTicks) * config_.tick;
  if (asked_at_ != 0 && now - asked_at_ < interval) return;
  asked_at_ = now;
  const auto& all = members_->members();
  if (!urgent && !news && body.wanted.empty()) {
    // There is nothing to request: tell one keeper which version this node knows.
    const Account& k = keepers_[ticks_ / 2 % keepers_.size()];
    if (k.node != self_.node) send(k.node, body, out);
    return;
  }
  if (founding_epoch_ != 0) voter_.on_request(self_, body, now, out);
  for (const Account& k : keepers_) {
    if (k.node != self_.node) send(k.node, body, out);
  }
  if (since >= kReferralTicks * config_.tick && !all.empty()) {
    const NodeId other = all[(ticks_ * 7 + self_.node) % all.size()];
    if (other != self_.node) send(other, body, out);
  }
}

}  // namespace laird::consensus
