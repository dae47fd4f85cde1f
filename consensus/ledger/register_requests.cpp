// What a ledger requests of the keepers of the register, and how it applies their statements.
// docs/ledger.md, "The register".
#include <algorithm>

#include "consensus/ledger/ledger.hpp"

namespace laird::consensus {

void Ledger::on_register_message(const Account& from, const Message& m, TimeNs now, Out& out) {
  if (on_founding_message(from, m, now, out)) return;
  if (const auto* r = std::get_if<ReferBody>(&m.body)) {
    if (members_->has(from.node)) {
      words_.hear_guide(from.node, m.founding_epoch, r->version, r->keepers, now);
      heed_words(now);
    }
    return;
  }
  // Whoever asks in another founding may have been led astray by one member: it needs two words.
  if (m.founding_epoch != founding_epoch_ && std::holds_alternative<RequestBody>(m.body)) {
    if (at_work(now)) send(from.node, ReferBody{keepers_version_, keepers_}, out);
    return;
  }
  if (m.founding_epoch != founding_epoch_ || founding_epoch_ == 0) return refuse(Refusal::kEpoch);
  voter_.heard_keeper(from, now);
  if (const auto* b = std::get_if<RequestBody>(&m.body)) {
    if (released(now)) {
      voter_.on_receipt(from, *b);
      left_ = voter_.handed_over();
    }
    if (voter_.seated()) {
      voter_.on_request(from, *b, now, out);
    } else if (keepers_version_ > b->version && entered()) {
      send(from.node, ReferBody{keepers_version_, keepers_}, out);
    }
  } else if (const auto* s = std::get_if<StatementBody>(&m.body)) {
    words_.hear_guide(from.node, m.founding_epoch, s->version, s->keepers, now);
    if (s->incarnation == self_.incarnation) words_.hear_statement(from, *s);
    heed_words(now);
  } else if (const auto* probe = std::get_if<ProbeBody>(&m.body)) {
    RequestBody answer = request(now);
    answer.echo = probe->question;
    send(from.node, std::move(answer), out);
  } else if (const auto* relayed = std::get_if<RelayBody>(&m.body)) {
    voter_.on_relay(from, *relayed, now);
  } else {
    on_keepers_message(from, m, now, out);
  }
  catch_up(now);
}

void Ledger::on_keepers_message(const Account& from, const Message& m, TimeNs now, Out& out) {
  if (const auto* p = std::get_if<PrepareBody>(&m.body)) {
    voter_.on_prepare(from, *p, now, out);
  } else if (const auto* promise = std::get_if<PromiseBody>(&m.body)) {
    voter_.on_promise(from, *promise, now, out);
  } else if (const auto* accept = std::get_if<AcceptBody>(&m.body)) {
    voter_.on_accept(from, *accept, now, out);
  } else if (const auto* accepted = std::get_if<AcceptedBody>(&m.body)) {
    voter_.on_accepted(from, *accepted, now, out);
  } else if (const auto* refused = std::get_if<RefusedBody>(&m.body)) {
    voter_.on_refused(from, *refused, now);
  } else if (const auto* decided = std::get_if<DecidedBody>(&m.body)) {
    // The version first: by its own word the only keeper may be the only one no more.
    const std::size_t needed = words_needed_of(from, decided->value.version, now);
    voter_.on_decided(from, decided->value, needed, now, out);
    words_.hear_guide(from.node, m.founding_epoch, decided->value.version, decided->value.keepers,
                      now);
    heed_words(now);
  }
}

// One member can lie, two cannot. In a fleet of three a node that has heard one member only for a
// lease, whomever it asked, believes that one: the third is gone or cut off, and so fenced. In a
// larger fleet a node never does: it may be cut off together with a liar. If all others are really
// gone, an operator takes them off the member list.
std::size_t Ledger::words_needed(TimeNs now) const {
  const std::size_t others = members_->members().size() - (members_->has(self_.node) ? 1 : 0);
  if (config_.faults.trusting || others < kWords) return 1;
  if (others > kWords) return kWords;
  const bool long_alone = one_speaker_ticks_ * config_.tick >= config_.lease;
  return long_alone && !at_work(now) ? 1 : kWords;
}

// Ticks count, not time: a node that was away or stood still has not listened meanwhile.
void Ledger::count_speakers(TimeNs now) {
  const bool waits = outside_since_ != kNever || urgent_since_ != kNever;
  const bool one = waits && words_.speakers(now - config_.lease) == 1;
  one_speaker_ticks_ = one ? std::min<std::uint32_t>(one_speaker_ticks_ + 1, 1U << 30) : 0;
}

std::optional<NodeId> Ledger::only_keeper() const {
  if (keepers_.size() != 1) return std::nullopt;
  return keepers_.front().node;
}

// A fleet of two has one keeper, whose word is all there is. Its own word on who keeps the register
// after it does not make it less than that.
std::size_t Ledger::words_needed_of(const Account& keeper, std::uint32_t version,
                                    TimeNs now) const {
  if (!believable(version, now) && !config_.faults.trusting) return kWords;
  const std::uint32_t sure = unsure_.keepers ? unsure_.keepers_version : keepers_version_;
  const bool holds = voter_.value().version != 0 && voter_.value().version >= sure;
  const std::vector<Account>& known = holds ? voter_.value().keepers : keepers_;
  return known.size() == 1 && known.front() == keeper ? 1 : words_needed(now);
}

bool Ledger::believable(std::uint32_t version, TimeNs now) const {
  if (first_version_ == 0) return true;
  const auto ticks = (now - first_version_at_) / config_.tick;
  const auto most = static_cast<Wide>(first_version_) + kVersionStep + ticks;
  return version <= most;
}

void Ledger::note_first_version(std::uint32_t version, TimeNs now) {
  if (first_version_ != 0) return;
  first_version_ = version;
  first_version_at_ = now;
}

// What two members say alike is believed, and repairs which keepers and which founding were
// believed of one alone where there was nobody else to ask. What was applied of a register is never
// taken back: the words of two may have been under way for long.
void Ledger::heed_words(TimeNs now) {
  const bool one = words_needed(now) == 1;
  const Epoch sure = words_.agreed_epoch(kWords);
  const Epoch epoch = sure != 0 || !one ? sure : words_.agreed_epoch(1);
  if (epoch != 0 && epoch != founding_epoch_) follow(epoch, sure != 0, now);
  const std::uint32_t known = unsure_.keepers ? unsure_.keepers_version : keepers_version_;
  if (const auto two = words_.agreed_keepers(founding_epoch_, known, kWords, std::nullopt,
                                             now - config_.lease)) {
    if (unsure_.keepers) first_version_ = 0;  // it may have been a lie
    unsure_.keepers = false;
    keepers_version_ = two->version;
    keepers_ = two->keepers;
    note_first_version(two->version, now);
  } else if (const auto guide = words_.agreed_keepers(founding_epoch_, keepers_version_,
                                                      one ? 1 : kWords, only_keeper(), INT64_MIN)) {
    if (!believable(guide->version, now)) return;
    if (!unsure_.keepers) unsure_.keepers_version = keepers_version_;
    unsure_.keepers = true;
    keepers_version_ = guide->version;
    keepers_ = guide->keepers;
    note_first_version(guide->version, now);
  }
  heed_statements(now);
}

void Ledger::heed_statements(TimeNs now) {
  const std::size_t majority = config_.faults.trusting ? 1 : keepers_.size() / 2 + 1;
  const auto s = words_.agreed_statement(keepers_, self_.incarnation, version_, majority);
  if (!s) return;
  if (majority < kWords && !believable(s->version, now) && !config_.faults.trusting) return;
  apply(*s, now);
}

// Enough members take part in another founding than this node. It follows them unless its own
// register works: then they cannot have founded without it.
void Ledger::follow(Epoch founding_epoch, bool sure, TimeNs now) {
  if (founding_epoch == founding_.promised) return start_epoch(now);
  const bool older = founding_epoch < founding_epoch_ && !(sure && unsure_.epoch);
  if (!sure && founding_epoch > founding_epoch_ + kEpochStep) return refuse(Refusal::kEpoch);
  if (at_work(now) || older) return refuse(Refusal::kEpoch);
  // What this node has promised it keeps until nothing can come of it any more, or until two
  // members say that they have not left for it. The promised founding needs everyone, so a register
  // that goes on without it means that it never starts.
  const DurationNs wait = register_patience(config_.lease) + 2 * kFoundingTicksMax * config_.tick;
  if (founding_.promised != 0 && !sure && now - founding_.promised_at < wait) return;
  const bool knew = founding_epoch_ != 0 || founding_.promised != 0;
  if (knew && self_.incarnation >= kIncarnationMax) return refuse(Refusal::kEpoch);
  founding_epoch_ = founding_epoch;
  founding_ = {};
  keepers_version_ = 0;
  unsure_ = {};
  unsure_.epoch = !sure;
  begin(self_.incarnation + (knew ? 1 : 0), now);
}

void Ledger::catch_up(TimeNs now) {
  if (voter_.value().version > keepers_version_) {
    keepers_version_ = voter_.value().version;
    keepers_ = voter_.value().keepers;
  }
  if (voter_.value().version > version_) {
    if (const auto s = voter_.statement_for(self_, now)) apply(*s, now);
  }
}

// Replaces this node's base and edges by what the register states. That never lowers the holding:
// an edge that the other end closed has ended with numbers at least as good for this end as its own
// (invariant I2).
void Ledger::apply(const StatementBody& s, TimeNs now) {
  if (s.version <= version_) return;
  note_first_version(s.version, now);
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
  living_ = s.living;
  quorum_ = s.quorum;
  if (asked_ && s.quorum_revision > quorum_revision_) asked_ = false;
  quorum_revision_ = s.quorum_revision;
  const auto before = edges_.size();
  const std::vector<Edge> old = edges_;
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
      e.limit = t.limit;
      e.peer_limit = t.peer_limit;
      go_on_from(old, e);
      moved = true;
    } else {
      at->peer_dead = t.peer_dead;
      at->limit = t.limit;
      at->peer_limit = t.peer_limit;
      if (!at->closing) at->count_claims();
      at->peer_silent = t.peer_silent;
    }
  }
  if (moved) {
    for (Edge& e : edges_) e.terms_seq = 0;
  }
}

// An edge that replaces an open one between the same accounts counts as heard and acknowledged when
// that one was. Both ends keep to that: whoever closes the new edge waits for what it acknowledged
// on the old one to expire.
void Ledger::go_on_from(const std::vector<Edge>& old, Edge& edge) {
  for (const Edge& o : old) {
    if (o.peer != edge.peer || o.closing || (o.seq_heard == 0 && !o.renewed)) continue;
    edge.renewed = true;
    edge.heard_at = o.heard_at;
    edge.fresh_at = o.fresh_at;
  }
}

DurationNs Ledger::silence_max(const Edge& e, TimeNs now) const {
  const bool unheard = e.seq_heard == 0 && e.edge_number != 0 && !e.renewed;
  if (!unheard) return silence_limit();
  // The peer may have died between the proposal of the edge and its decision.
  const bool silent = e.peer_silent || voter_.never_answered(e.peer, now);
  return silent ? 0 : std::min(silence_limit(), kNeverHeardTicks * config_.tick);
}

// A closing is reported only when nothing that this end has acknowledged can still keep the peer
// unfenced (invariant I5). An end that never heard the peer has acknowledged nothing.
bool Ledger::may_report_closing(const Edge& e, TimeNs now) const {
  const bool unheard = e.seq_heard == 0 && !e.renewed;
  return e.closing && (e.peer_dead || unheard || now - e.heard_at >= silence_limit());
}

// The quorum follows the number of open edges. Until the register has entered a new quorum, the
// greater of the old and the new one is in force here, so the register never counts with a greater
// quorum than this node keeps to.
void Ledger::review_quorum() {
  if (asked_ || version_ == 0) return;
  const auto open = static_cast<std::size_t>(std::count_if(
      edges_.begin(), edges_.end(), [](const Edge& e) { return !e.closing && !e.peer_dead; }));
  const std::uint8_t wanted = living_ == 1 ? std::uint8_t{0} : quorum_for(living_, open);
  if (wanted == quorum_ || quorum_revision_ >= kQuorumRevisionMax) return;
  quorum_next_ = wanted;
  asked_ = true;
}

RequestBody Ledger::request(TimeNs now) const {
  RequestBody body;
  body.version = version_;
  body.serial = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks_, UINT32_MAX));
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
    if (e.frozen && !e.closing && !e.peer_dead) {
      body.renewals.push_back({e.peer, e.edge_number, e.sent, e.heard});
    }
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
  const bool news =
      behind_ || !body.silent.empty() || words_.unconfirmed(self_.incarnation, version_);
  behind_ = false;
  const DurationNs interval =
      urgent ? (since < kUrgentTicks * config_.tick ? 1 : kPatientTicks) * config_.tick
      : news ? config_.tick
      : !body.renewals.empty() ? kPatientTicks * config_.tick
      : body.wanted.empty()    ? reminder_interval(silence_limit())
                               : (register_moves ? kWantedTicks : kSeldomTicks) * config_.tick;
  if (asked_at_ != 0 && now - asked_at_ < interval) return;
  asked_at_ = now;
  const auto& all = members_->members();
  if (!urgent && !news && body.wanted.empty() && body.renewals.empty()) {
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
