#include "consensus/ledger/ledger.hpp"

#include <algorithm>
#include <utility>

#include "base/require.hpp"

namespace laird::consensus {
namespace {

// A board that leaves closes its edges early once it holds no more than this of any resource.
constexpr Parts kDust = kWhole / 1'000'000;

std::vector<Account> first_accounts(const NeighbourGraph& founders) {
  std::vector<Account> out;
  out.reserve(founders.members().size());
  for (const NodeId node : founders.members()) out.push_back({node, 1});
  return out;
}

}  // namespace

Ledger::Ledger(const LedgerConfig& config, NodeId self, std::uint32_t incarnation,
               std::shared_ptr<const NeighbourGraph> founders,
               std::shared_ptr<const NeighbourGraph> members, TimeNs now)
    : config_(config),
      self_{self, incarnation},
      founders_(std::move(founders)),
      members_(std::move(members)) {
  LAIRD_REQUIRE(incarnation >= 1 && founders_ && members_, "a ledger needs an account");
  LAIRD_REQUIRE(config_.lease >= kLedgerLeaseTicksMin * config_.tick,
                "a lease must span many ticks");
  begin(incarnation, now);
  if (incarnation != 1 || !founders_->has(self)) return;
  founding_epoch_ = config_.founding_epoch;
  found(founding_register(*founders_, first_accounts(*founders_)), now);
}

// Begins an account that is not entered in the register and holds nothing.
void Ledger::begin(std::uint32_t incarnation, TimeNs now) {
  self_.incarnation = incarnation;
  base_ = {};
  edges_.clear();
  version_ = 0;
  asked_ = dead_ = behind_ = false;
  living_ = 0;
  newest_edge_told_ = 0;
  quorum_ = quorum_next_ = 1;
  quorum_revision_ = 0;
  urgent_since_ = kNever;
  asked_at_ = 0;
  members_since_ = told_at_ = now;
  outside_since_ = now;
  words_.forget_statements();
  if (keepers_version_ == 0) {
    // Requests go to the keepers of the founding until somebody names the present ones.
    keepers_ = first_accounts(*founders_);
    keepers_.resize(keepers_for(keepers_.size()));
    first_version_ = 0;
  }
  configure_voter();
  voter_.begin(self_, {}, now);
}

// The account was declared dead: the same process goes on under the next incarnation. It keeps the
// register that it holds, because it may be the only one to know the version that declared it dead.
void Ledger::live_on(TimeNs now) {
  if (self_.incarnation >= kIncarnationMax) return;  // stays outside: there is no later account
  Register known = voter_.value();
  begin(self_.incarnation + 1, now);
  voter_.begin(self_, std::move(known), now);
}

void Ledger::configure_voter() {
  const DurationNs longest = silence_limit() + drift_over(silence_limit(), config_.drift_ppm);
  voter_.configure({config_.tick, longest}, founding_epoch_,
                   {config_.faults.untagged_closings, config_.faults.trusting});
}

void Ledger::found(Register value, TimeNs now) {
  value.version += config_.counters.version;
  value.edges_opened += config_.counters.edge_number;
  for (Entry& e : value.entries) e.changed = value.version;
  configure_voter();
  const Entry* mine = value.find(self_);
  LAIRD_REQUIRE(mine != nullptr, "a founder is in the founding register");
  keepers_ = value.keepers;
  keepers_version_ = version_ = first_version_ = value.version;
  first_version_at_ = now;
  outside_since_ = kNever;
  base_ = mine->base;
  quorum_ = mine->quorum;
  living_ = static_cast<std::uint32_t>(value.entries.size());
  edges_.clear();
  for (const Tie& t : mine->ties) {
    Edge& e = edges_.emplace_back();
    e.peer = t.peer;
    e.edge_number = t.edge_number;
    e.heard_at = now;
    e.seq = config_.counters.seq;
    e.limit = t.limit;
    e.peer_limit = value.find(t.peer)->tie_to(self_)->limit;
  }
  if (value.is_keeper(self_)) voter_.begin(self_, std::move(value), now);
}

void Ledger::attach(std::shared_ptr<const NeighbourGraph> founders,
                    std::shared_ptr<const NeighbourGraph> members) {
  founders_ = std::move(founders);
  members_ = std::move(members);
}

void Ledger::set_demand(std::size_t resource, const Demand& demand) {
  LAIRD_REQUIRE(resource < kResources, "there are three resources");
  const Demand d = in_range(demand);
  if (d.urgency != demand_[resource].urgency) {
    for (Edge& e : edges_) e.terms_seq = 0;
  }
  demand_[resource] = d;
}

void Ledger::set_members(std::shared_ptr<const NeighbourGraph> members) {
  members_ = std::move(members);
  members_since_ = INT64_MIN;  // the next tick notes the time
}

void Ledger::send(NodeId to, Body body, Out& out) const {
  const std::uint32_t incarnation = std::holds_alternative<EdgeBody>(body) ? 0 : self_.incarnation;
  out.send(to, founding_epoch_, incarnation, std::move(body));
}

Shares Ledger::holding() const {
  std::array<Wide, kResources> sum{};
  for (const Edge& e : edges_) {
    for (std::size_t r = 0; r < kResources; ++r) sum[r] += e.heard[r] - e.sent[r];
  }
  Shares held{};
  for (std::size_t r = 0; r < kResources; ++r) held[r] = bounded(base_[r] + sum[r]);
  return held;
}

Shares Ledger::effective(TimeNs now) const {
  Shares out{};
  if (leaving_ || dead_ || version_ == 0) return out;
  if (fenced(now) && !config_.faults.no_fence) return out;
  const Shares held = holding();
  for (std::size_t r = 0; r < kResources; ++r) {
    out[r] = std::clamp<Parts>(held[r], 0, demand_[r].cap);
  }
  return out;
}

DurationNs Ledger::silence_limit() const {
  return consensus::silence_limit(config_.lease, config_.tick);
}

DurationNs Ledger::fence_age() const {
  return consensus::fence_age(silence_limit(), config_.tick, config_.drift_ppm);
}

bool Ledger::fenced(TimeNs now) const { return now > fence_deadline(); }

std::uint8_t Ledger::quorum_in_force() const {
  return asked_ ? std::max(quorum_, quorum_next_) : quorum_;
}

TimeNs Ledger::fence_deadline() const {
  const std::size_t quorum = quorum_in_force();
  if (quorum == 0) return kNever;
  std::array<TimeNs, kEdgesMax> fresh{};
  std::size_t count = 0;
  for (const Edge& e : edges_) {
    if (!e.closing && count < fresh.size()) fresh[count++] = e.fresh_at;
  }
  if (count < quorum) return INT64_MIN;
  std::nth_element(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(quorum - 1),
                   fresh.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
  return fresh[quorum - 1] + fence_age();
}

std::uint8_t Ledger::degree() const {
  const auto n =
      std::count_if(edges_.begin(), edges_.end(), [](const Edge& e) { return !e.closing; });
  return static_cast<std::uint8_t>(std::max<std::ptrdiff_t>(n, 1));
}

void Ledger::on_message(NodeId from, const Message& m, TimeNs now, Out& out) {
  if (from == self_.node || left_) return;
  if (const auto* edge = std::get_if<EdgeBody>(&m.body)) {
    if (m.founding_epoch != founding_epoch_ || founding_epoch_ == 0) return refuse(Refusal::kEpoch);
    return on_edge(from, *edge, now);
  }
  const Account sender{from, m.from_incarnation};
  if (!sender.valid()) return refuse(Refusal::kNotAKeeper);
  on_register_message(sender, m, now, out);
}

void Ledger::on_edge(NodeId from, const EdgeBody& body, TimeNs now) {
  for (Edge& e : edges_) {
    if (e.peer.node != from || e.edge_number != body.edge_number) continue;
    if (!e.closing && !e.hear(body, now)) refuse(Refusal::kEdgeNumbers);
    return;
  }
  behind_ |= body.edge_number > newest_edge_told_;
  refuse(Refusal::kEdge);
}

void Ledger::refuse(Refusal reason) {
  ++rejected_;
  refusals_.add(reason);
}

bool Ledger::note_other_wire(NodeId from, std::uint8_t version) {
  const auto at = std::find_if(other_wires_.begin(), other_wires_.end(),
                               [&](const OtherWire& o) { return o.node == from; });
  if (at != other_wires_.end()) return std::exchange(at->version, version) != version;
  if (other_wires_.size() < kAccountsMax) other_wires_.push_back({from, version});
  return true;
}

Refusals Ledger::refusals() const {
  Refusals all = refusals_;
  const Refusals voters = voter_.refusals();
  for (std::size_t k = 0; k < kRefusals; ++k) {
    all.add(static_cast<Refusal>(k), voters.of(static_cast<Refusal>(k)));
  }
  return all;
}

// An edge is closed for good after too much silence, when the register calls the peer dead, or when
// this node leaves. If both ends live, the register opens a new edge between them.
void Ledger::close_edges(TimeNs now) {
  const Shares held = holding();
  const bool empty = std::all_of(held.begin(), held.end(), [](Parts p) { return p <= kDust; });
  const bool all = leaving_ && (empty || now - leaving_since_ > kLeaveTicks * config_.tick);
  for (Edge& e : edges_) {
    const bool used_up = e.seq >= kSeqMax;
    const bool silent = now - e.heard_at >= silence_max(e, now);
    if (e.closing || (!e.peer_dead && !all && !silent && !used_up)) continue;
    e.closing = true;
    e.closed_at = now;
  }
}

// Closes edges that the neighbour graph no longer has, once enough of the wanted neighbours answer.
// An edge stays if its peer has no more than kNeighboursMin: the register opened it in place of
// neighbours that are gone, and would open it again.
void Ledger::retire_edges(TimeNs now) {
  if (members_since_ == INT64_MIN) members_since_ = now;
  if (now - members_since_ < silence_limit()) return;
  const std::vector<NodeId> wanted = members_->neighbours(self_.node);
  const auto is_wanted = [&](const Edge& e) {
    return std::binary_search(wanted.begin(), wanted.end(), e.peer.node);
  };
  const auto answering = std::count_if(edges_.begin(), edges_.end(), [&](const Edge& e) {
    return is_wanted(e) && !e.closing && now - e.fresh_at < fence_age() / 2;
  });
  if (answering <
      static_cast<std::ptrdiff_t>(std::max<std::size_t>(quorum_in_force(), kNeighboursMin))) {
    return;
  }
  for (Edge& e : edges_) {
    if (e.closing || is_wanted(e) || e.degree <= kNeighboursMin) continue;
    e.closing = true;
    e.closed_at = now;
  }
}

bool Ledger::released(TimeNs now) const {
  if (!resigning() || voter_.value().version != version_) return false;
  const auto word = voter_.statement_for(self_, now);
  return word && word->confirmed_dead;
}

void Ledger::on_tick(TimeNs now, Out& out) {
  ++ticks_;
  if (left_) return;
  if (released(now)) {
    voter_.hand_over(out);
    return;
  }
  if (resigning()) {
    // The node acknowledges nothing any more, so that it keeps no neighbour unfenced, and asks
    // until the register has entered that. Otherwise a neighbour that falls silent too could never
    // be settled.
    ask(now, out);
    return;
  }
  if (dead_) live_on(now);
  count_speakers(now);
  if (leaving_ && leaving_since_ == 0) leaving_since_ = now;
  close_edges(now);
  retire_edges(now);
  review_quorum();
  found_if_lost(now, out);
  ask(now, out);
  for (const Edge& e : edges_) {
    if (!e.closing) voter_.note_alive(e.peer, e.fresh_at);
  }
  voter_.on_tick(now, out);
  catch_up(now);
  grant();
  speak(now, out);
}

void Ledger::speak(TimeNs now, Out& out) {
  const Prices own = prices();
  for (Edge& e : edges_) {
    if (e.closing) continue;
    EdgeBody body;
    e.speak(own, now, body);
    if (e.terms_seq == 0 || e.terms_seq > e.seq_acked) {
      if (e.terms_seq == 0) e.terms_seq = e.seq;
      body.has_terms = true;
      body.degree = degree();
      for (std::size_t r = 0; r < kResources; ++r) body.urgency[r] = demand_of(r).urgency;
    }
    send(e.peer.node, body, out);
  }
}

}  // namespace laird::consensus
