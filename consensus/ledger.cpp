#include "consensus/ledger.hpp"

#include <algorithm>

#include "base/require.hpp"

namespace laird::consensus {

std::uint8_t quorum_for(std::size_t degree) {
  if (degree >= 7) return 3;
  if (degree >= 5) return 2;
  return degree >= 1 ? 1 : 0;
}

Ledger::Ledger(const LedgerConfig& config, NodeId self, std::uint32_t incarnation,
               std::shared_ptr<const Overlay> founders, std::shared_ptr<const Overlay> members,
               TimeNs now)
    : config_(config),
      self_{self, incarnation},
      founders_(std::move(founders)),
      members_(std::move(members)) {
  LAIRD_REQUIRE(incarnation >= 1 && founders_ && members_, "a ledger needs an account");
  LAIRD_REQUIRE(config_.lease >= 20 * config_.tick, "a lease must span many ticks");
  begin(incarnation, now);
}

void Ledger::begin(std::uint32_t incarnation, TimeNs now) {
  self_.incarnation = incarnation;
  base_ = {};
  edges_.clear();
  version_ = 1;
  quorum_ = quorum_in_force_ = 0;
  quorum_version_ = 0;
  absorbed_.clear();
  settlement_ = {};
  finals_.clear();
  closed_ = false;
  if (incarnation == 1 && founders_->has(self_.node)) {
    found(now);
  } else {
    open_missing_edges(now);
  }
}

// Founders start as if every record had been exchanged: all of them derive the same ones.
void Ledger::found(TimeNs now) {
  base_.fill(founders_->genesis(self_.node));
  for (const NodeId peer : founders_->neighbours(self_.node)) {
    Edge e;
    e.peer = {peer, 1};
    e.status = EdgeStatus::kOpen;
    e.opened = e.counted = e.registered = e.cleared = e.peer_usable = true;
    e.status_version = e.record_acked = 1;
    e.heard_at = e.fresh_at = now;
    e.record.version = 1;
    e.record.base.fill(founders_->genesis(peer));
    for (const NodeId other : founders_->neighbours(peer)) {
      e.record.entries.push_back({{other, 1}, EdgeStatus::kOpen, {}, {}});
    }
    e.record.quorum = quorum_for(e.record.entries.size());
    edges_.push_back(std::move(e));
  }
  LAIRD_REQUIRE(edges_.size() <= kEdgesMax, "the overlay's degree fits the edge limit");
  quorum_ = quorum_in_force_ = quorum_for(edges_.size());
}

void Ledger::attach(std::shared_ptr<const Overlay> founders,
                    std::shared_ptr<const Overlay> members) {
  founders_ = std::move(founders);
  members_ = std::move(members);
}

void Ledger::set_demand(std::size_t resource, const Demand& demand) {
  LAIRD_REQUIRE(resource < kResources, "there are three resources");
  Demand d = demand;
  d.urgency = std::max<std::uint16_t>(d.urgency, 1);
  d.floor = std::clamp<Parts>(d.floor, 0, kWhole);
  d.cap = std::clamp<Parts>(d.cap, d.floor, kWhole);
  d.demand = std::clamp<Parts>(d.demand, 0, kWhole);
  if (d.urgency != demand_[resource].urgency) {
    for (Edge& e : edges_) e.terms_seq = 0;
  }
  demand_[resource] = d;
}

void Ledger::set_members(std::shared_ptr<const Overlay> members) {
  members_ = std::move(members);
  retire_extra_edges();
}

Edge* Ledger::find(const Account& peer) {
  for (Edge& e : edges_) {
    if (e.peer == peer) return &e;
  }
  return nullptr;
}

void Ledger::send(NodeId to, std::uint32_t incarnation, Body body, Out& out) const {
  out.messages.push_back(
      {to, Message{config_.epoch, self_.incarnation, incarnation, std::move(body)}});
}

Shares Ledger::holding() const {
  Shares held = base_;
  for (const Edge& e : edges_) {
    for (std::size_t r = 0; r < kResources; ++r) held[r] += e.heard[r] - e.sent[r];
  }
  return held;
}

Shares Ledger::effective(TimeNs now) const {
  Shares share = holding();
  const bool none = fenced(now) && !config_.faults.no_fence;
  for (std::size_t r = 0; r < kResources; ++r) {
    share[r] = none ? 0 : std::clamp<Parts>(share[r], 0, demand_[r].cap);
  }
  return share;
}

// The peer closes a lease after its last message of ours arrived, which is no earlier than we sent
// it; both clocks may be off by drift_ppm, and this node looks once per tick.
DurationNs Ledger::fence_age() const {
  return config_.lease - config_.lease / 1'000'000 * 2 * config_.drift_ppm - config_.tick;
}

bool Ledger::fenced(TimeNs now) const { return now > fence_deadline(); }

TimeNs Ledger::fence_deadline() const {
  if (quorum_in_force_ == 0) return kNever;
  std::array<TimeNs, kEdgesMax> fresh{};
  std::size_t count = 0;
  for (const Edge& e : edges_) {
    if (e.counted) fresh[count++] = e.fresh_at;
  }
  if (count < quorum_in_force_) return INT64_MIN;
  std::nth_element(fresh.begin(), fresh.begin() + (quorum_in_force_ - 1),
                   fresh.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
  return fresh[quorum_in_force_ - 1U] + fence_age();
}

std::uint8_t Ledger::degree() const {
  const auto n = std::count_if(edges_.begin(), edges_.end(),
                               [&](const Edge& e) { return e.status == EdgeStatus::kOpen; });
  return static_cast<std::uint8_t>(std::max<std::ptrdiff_t>(n, 1));
}

bool Ledger::committed(std::uint32_t version) const {
  return std::all_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
    return e.status != EdgeStatus::kOpen || e.record_acked >= version;
  });
}

bool Ledger::usable(const Edge& e) const {
  return e.status == EdgeStatus::kOpen && e.cleared && committed(e.status_version);
}

Record Ledger::own_record() const {
  Record record;
  record.version = version_;
  record.base = base_;
  if (settlement_.published) {
    for (std::size_t r = 0; r < kResources; ++r) record.base[r] += settlement_.credit[r];
  }
  record.quorum = quorum_;
  for (const Edge& e : edges_) {
    if (!e.peer.valid() || (settlement_.published && in_group(e.peer))) continue;
    // Until every neighbour has it named, an edge carries nothing and gives no say.
    const EdgeStatus status = e.registered ? e.status : EdgeStatus::kOpening;
    RecordEntry entry{e.peer, status, {}, {}};
    if (status == EdgeStatus::kFrozen || status == EdgeStatus::kFinal) {
      entry.sent = e.sent;
      entry.heard = e.heard;
    }
    record.entries.push_back(entry);
  }
  record.absorbed = absorbed_;
  return record;
}

void Ledger::set_status(Edge& edge, EdgeStatus status) {
  edge.status = status;
  if (status == EdgeStatus::kOpen) edge.opened = true;
  if (status == EdgeStatus::kFrozen) edge.cleared = false;
  edge.status_version = ++version_;
}

void Ledger::fold(std::size_t index) {
  const Edge& e = edges_[index];
  for (std::size_t r = 0; r < kResources; ++r) base_[r] += e.heard[r] - e.sent[r];
  erase(index);
  ++version_;
}

void Ledger::erase(std::size_t index) {
  seq_high_ = std::max(seq_high_, edges_[index].seq);
  edges_.erase(edges_.begin() + static_cast<std::ptrdiff_t>(index));
}

Edge& Ledger::new_edge(const Account& peer, TimeNs now) {
  Edge& e = edges_.emplace_back();
  e.peer = peer;
  e.seq = seq_high_;
  e.first_seq = e.seq + 1;
  e.heard_at = e.fresh_at = now;
  return e;
}

const Obituary* Ledger::obituary(const Account& account) const {
  for (const Obituary& o : obituaries_) {
    if (o.account == account) return &o;
  }
  return nullptr;
}

void Ledger::remember(Obituary o) {
  std::erase_if(obituaries_, [&](const Obituary& old) { return old.account == o.account; });
  if (obituaries_.size() == kObituariesMax) obituaries_.erase(obituaries_.begin());
  obituaries_.push_back(std::move(o));
}

void Ledger::open_missing_edges(TimeNs now) {
  for (const NodeId node : members_->neighbours(self_.node)) {
    if (edges_.size() >= kEdgesMax) return;
    const bool there = std::any_of(edges_.begin(), edges_.end(), [&](const Edge& e) {
      return e.peer.node == node && !e.certain;
    });
    if (there) continue;
    new_edge({node, 0}, now);
  }
}

// An edge the overlay no longer has is retired by either end alone: it publishes its last numbers
// and accepts nothing more; the peer takes them over and drops the edge.
void Ledger::retire_extra_edges() {
  const std::vector<NodeId> wanted = members_->neighbours(self_.node);
  for (std::size_t i = edges_.size(); i-- > 0;) {
    Edge& e = edges_[i];
    if (std::binary_search(wanted.begin(), wanted.end(), e.peer.node)) continue;
    if (!e.peer.valid()) {
      erase(i);
    } else if (e.status == EdgeStatus::kOpen) {
      set_status(e, EdgeStatus::kFinal);
    }
  }
}

void Ledger::note_incarnation(NodeId node, std::uint32_t incarnation, TimeNs now) {
  for (Edge& e : edges_) {
    if (e.peer.node != node || !e.peer.valid() || e.peer.incarnation >= incarnation) continue;
    if (e.certain) continue;
    e.certain = true;
    e.claimable_at = now;
    if (e.status == EdgeStatus::kOpen || e.status == EdgeStatus::kOpening) {
      set_status(e, EdgeStatus::kFrozen);
    }
  }
}

void Ledger::on_message(NodeId from, const Message& m, TimeNs now, Out& out) {
  const Account sender{from, m.from_incarnation};
  if (m.epoch != config_.epoch || from == self_.node || !sender.valid()) {
    ++rejected_;
    return;
  }
  note_incarnation(from, sender.incarnation, now);
  if (const PullBody* pull = std::get_if<PullBody>(&m.body)) {
    return on_pull(sender, m.to_incarnation, *pull, now, out);
  }
  if (m.to_incarnation != self_.incarnation) {
    const EdgeBody* edge = std::get_if<EdgeBody>(&m.body);
    const AskBody* ask = std::get_if<AskBody>(&m.body);
    if (const auto* final = std::get_if<FinalBody>(&m.body);
        final != nullptr && m.to_incarnation < self_.incarnation) {
      // Our earlier account cannot fold anything any more.
      send(from, sender.incarnation, FinalAckBody{final->target}, out);
      return;
    }
    if (m.to_incarnation != 0 || (edge == nullptr && ask == nullptr)) {
      ++rejected_;
      return;
    }
  }
  if (const auto* b = std::get_if<EdgeBody>(&m.body)) on_edge(sender, *b, now, out);
  if (const auto* b = std::get_if<RecordBody>(&m.body)) on_record(sender, *b, out);
  if (const auto* b = std::get_if<RecordAckBody>(&m.body)) {
    Edge* e = find(sender);
    if (e != nullptr && b->version <= version_) {
      e->record_acked = std::max(e->record_acked, b->version);
    }
  }
  if (const auto* b = std::get_if<ClaimBody>(&m.body)) on_claim(sender, *b, now, out);
  if (const auto* b = std::get_if<RefuseBody>(&m.body)) on_refuse(sender, *b, now, out);
  if (const auto* b = std::get_if<ReleaseBody>(&m.body)) on_release(sender, *b);
  if (const auto* b = std::get_if<ContendBody>(&m.body)) on_contend(sender, *b, out);
  if (const auto* b = std::get_if<FinalBody>(&m.body)) on_final(sender, *b, out);
  if (const auto* b = std::get_if<FinalAckBody>(&m.body)) {
    std::erase_if(
        finals_, [&](const PendingFinal& f) { return f.to == from && f.body.target == b->target; });
  }
  if (const auto* b = std::get_if<AskBody>(&m.body)) on_ask(sender, *b, out);
  if (const auto* b = std::get_if<AnswerBody>(&m.body)) on_answer(*b);
  if (const auto* b = std::get_if<ClosedBody>(&m.body)) on_closed(sender, *b);
}

void Ledger::on_edge(const Account& from, const EdgeBody& body, TimeNs now, Out& out) {
  Edge* e = find(from);
  if (e == nullptr) {
    // A neighbour we asked to open an edge with names itself; a later life of one we know opens
    // anew; anyone may ask us to open.
    e = find({from.node, 0});
    const bool newer = std::none_of(edges_.begin(), edges_.end(), [&](const Edge& other) {
      return other.peer.node == from.node && other.peer.incarnation > from.incarnation;
    });
    if (!body.opening || obituary(from) != nullptr || !newer || edges_.size() >= kEdgesMax ||
        fenced(now)) {
      if (!body.opening) send(from.node, from.incarnation, ClosedBody{body.seq}, out);
      return;
    }
    if (e == nullptr) e = &new_edge(from, now);
    e->peer = from;
    e->heard_at = now;
    e->status_version = ++version_;
  }
  if (e->lock.settler.valid() || e->certain) return;
  if (e->status == EdgeStatus::kFinal && body.seq > e->seq_heard) e->heard_at = now;
  if (body.final && body.ack < e->first_seq) {
    send(from.node, from.incarnation, ClosedBody{body.seq}, out);
    return;
  }
  if (e->status == EdgeStatus::kFinal || body.final) return on_final_edge(*e, body);
  if (!e->hear(body, now)) {
    ++rejected_;
    return;
  }
  if (e->status == EdgeStatus::kFrozen && e->heard_at == now) {
    set_status(*e, e->opened ? EdgeStatus::kOpen : EdgeStatus::kOpening);
  }
}

// One end has retired the edge: its last numbers are the edge's. If both have, each keeps its own
// until the other's have arrived; the lower account's count.
void Ledger::on_final_edge(Edge& e, const EdgeBody& body) {
  if (!body.final) return;
  if (e.status == EdgeStatus::kFinal && self_ < e.peer) return;
  for (std::size_t r = 0; r < kResources; ++r) {
    if (body.sent[r] < e.heard[r] || body.heard[r] > e.sent[r]) {
      ++rejected_;
      return;
    }
  }
  e.heard = body.sent;
  e.sent = body.heard;
  fold(static_cast<std::size_t>(&e - edges_.data()));
}

void Ledger::on_record(const Account& from, const RecordBody& body, Out& out) {
  Edge* e = find(from);
  if (e == nullptr || e->lock.settler.valid() || e->certain) return;
  if (body.record.version > e->record.version) e->record = body.record;
  send(from.node, from.incarnation, RecordAckBody{body.record.version}, out);
}

void Ledger::on_closed(const Account& from, const ClosedBody& body) {
  Edge* e = find(from);
  // An answer to an earlier life of the edge says nothing about this one.
  if (e == nullptr || body.seq < e->first_seq || body.seq > e->seq) return;
  if (e->status == EdgeStatus::kFinal) return fold(static_cast<std::size_t>(e - edges_.data()));
  // An edge not yet registered carries nothing and may have been dropped alone; any other only
  // with us.
  if (!e->registered) return fold(static_cast<std::size_t>(e - edges_.data()));
  if (e->opened) closed_ = true;
}

void Ledger::freeze_silent(TimeNs now) {
  // Early enough that the freeze is known to all neighbours by the end of the lease.
  const DurationNs suspect = config_.lease - std::min(config_.lease / 5, 10 * config_.tick);
  for (Edge& e : edges_) {
    const bool live = e.status == EdgeStatus::kOpen || e.status == EdgeStatus::kOpening;
    if (live && e.peer.valid() && now - e.heard_at > suspect) {
      set_status(e, EdgeStatus::kFrozen);
      e.claimable_at = e.heard_at + config_.lease;
    }
  }
}

void Ledger::advance_edges() {
  for (Edge& e : edges_) {
    if (e.status == EdgeStatus::kOpening && e.peer.valid() && e.seq_heard != 0 &&
        e.record.version != 0 && e.record_acked >= e.status_version) {
      set_status(e, EdgeStatus::kOpen);
    }
  }
  // An edge that is new or thawed carries grants once every neighbour, frozen ones too, has a
  // record with it open: whoever settles this account then knows whom to ask, and that the
  // numbers of the freeze no longer hold.
  for (Edge& e : edges_) {
    if (e.cleared || e.status != EdgeStatus::kOpen) continue;
    const bool known = std::all_of(edges_.begin(), edges_.end(), [&](const Edge& other) {
      return other.status == EdgeStatus::kOpening || other.record_acked >= e.status_version;
    });
    if (!known) continue;
    if (e.registered) {
      e.cleared = true;
    } else {
      // Named to all; now published as carrying grants, which all must hold once more.
      e.registered = true;
      e.status_version = ++version_;
    }
  }
}

// The quorum follows the degree, and new edges begin to count, only while every neighbour is open
// and holds the same record: nobody can be settling this account on an older view of it.
void Ledger::update_quorum() {
  std::size_t open = 0;
  for (const Edge& e : edges_) {
    if (e.status == EdgeStatus::kOpening) continue;
    if (e.status != EdgeStatus::kOpen || e.record_acked != version_) return;
    ++open;
  }
  for (Edge& e : edges_) e.counted = e.status == EdgeStatus::kOpen;
  if (quorum_in_force_ > quorum_) quorum_in_force_ = quorum_;
  const std::uint8_t wanted = quorum_for(open);
  if (wanted == quorum_) return;
  quorum_ = wanted;
  quorum_in_force_ = std::max(quorum_in_force_, quorum_);
  quorum_version_ = ++version_;
}

// An edge to an account known to be settled has nothing left to say; one that never was registered
// on both sides carries nothing. And an account whose neighbours are gone for good, so many that it
// can never be unfenced, is given up.
void Ledger::bury(TimeNs now) {
  for (std::size_t i = edges_.size(); i-- > 0;) {
    const Edge& e = edges_[i];
    if (e.lock.settler.valid() || !e.peer.valid() || e.status == EdgeStatus::kFinal) continue;
    const RecordEntry* theirs = e.record.find(self_);
    const bool carries = theirs != nullptr && theirs->status != EdgeStatus::kOpening;
    if (carries) continue;
    const bool silent = e.status == EdgeStatus::kFrozen && now - e.heard_at >= config_.lease;
    if (e.certain || silent || obituary(e.peer) != nullptr) fold(i);
  }
  std::uint8_t answering = 0;
  bool frozen = false;
  for (const Edge& e : edges_) {
    if (e.counted && !e.certain) ++answering;
    frozen |= e.status == EdgeStatus::kFrozen;
  }
  if (frozen && answering < quorum_in_force_) closed_ = true;
}

void Ledger::on_tick(TimeNs now, Out& out) {
  ++ticks_;
  if (closed_) begin(self_.incarnation + 1, now);
  bury(now);
  freeze_silent(now);
  // A fenced node may have been settled without knowing: it makes no new ties and no grants.
  const bool at_work = !fenced(now);
  if (at_work) {
    open_missing_edges(now);
    advance_edges();
    update_quorum();
  }
  settle(now, out);
  if (at_work) grant();
  speak(now, out);
}

void Ledger::speak(TimeNs now, Out& out) {
  const Prices own = prices();
  bool record_due = false;
  for (Edge& e : edges_) {
    if (e.certain || e.lock.settler.valid()) continue;
    speak_edge(e, own, now, out);
    record_due |= e.record_acked < version_;
  }
  if (!record_due) return;
  const Record record = own_record();
  for (Edge& e : edges_) {
    const bool live = e.status == EdgeStatus::kOpen || e.status == EdgeStatus::kOpening;
    if (!live || e.certain || !e.peer.valid() || e.record_acked >= version_) continue;
    send(e.peer.node, e.peer.incarnation, RecordBody{record}, out);
  }
}

void Ledger::speak_edge(Edge& e, const Prices& own, TimeNs now, Out& out) {
  EdgeBody body;
  body.opening = e.status == EdgeStatus::kOpening;
  if (e.status == EdgeStatus::kFinal) {
    if (!committed(e.status_version)) return;
    body.final = true;
  }
  body.usable = usable(e);
  e.speak(own, now, body);
  if (body.final) {
    body.sent_absolute = true;
    body.base_age = 0;
    body.sent = e.sent;
    body.heard = e.heard;
  }
  if (e.terms_seq == 0 || e.terms_seq > e.seq_acked) {
    if (e.terms_seq == 0) e.terms_seq = e.seq;
    body.has_terms = true;
    body.degree = degree();
    for (std::size_t r = 0; r < kResources; ++r) body.urgency[r] = demand_[r].urgency;
  }
  send(e.peer.node, e.peer.incarnation, body, out);
}

}  // namespace laird::consensus
