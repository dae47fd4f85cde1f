#include "lab/ledger/world/liar.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

using namespace consensus;

constexpr std::size_t kHeardMax = 200;

}  // namespace

Liar::Liar(NodeId node, std::uint64_t seed) : node_(node), random_(seed ^ 0x11A2) {
  for (std::size_t h = 0; h < kHabits; ++h) {
    if (random_.chance(0.35)) habits_.push_back(static_cast<Habit>(h));
  }
  if (habits_.empty()) habits_.push_back(static_cast<Habit>(random_.below(kHabits)));
  lies_per_tick_ = 1 + random_.below(5);
  plays_along_ = random_.chance(0.75);
}

std::string Liar::habits() const {
  static constexpr const char* kNames[] = {
      "statement", "refer", "decided", "accept", "equivocate", "vote",   "prepare",
      "promise",   "relay", "request", "edge",   "founding",   "replay", "mute"};
  static_assert(std::size(kNames) == kHabits);
  std::string out = "board " + std::to_string(node_) + " lies";
  for (const Habit h : habits_) out += std::string(" ") + kNames[static_cast<std::size_t>(h)];
  return out + (plays_along_ ? ", and plays along" : ", and does nothing else");
}

void Liar::overhear(const Message& message) {
  if (heard_.size() < kHeardMax) {
    heard_.push_back(message);
  } else {
    heard_[random_.below(kHeardMax)] = message;
  }
}

void Liar::speak(const Ledger& own, const Register& newest, NodeId boards, Out& sent) {
  if (!active_) return;
  boards_ = boards;
  epoch_ = own.founding_epoch();
  incarnation_ = own.account().incarnation;
  if (!plays_along_) sent.clear();
  if (!muted_.empty()) {
    std::erase_if(sent.messages, [&](const Outgoing& o) {
      return std::find(muted_.begin(), muted_.end(), o.to) != muted_.end();
    });
  }
  out_ = &sent;
  for (std::uint32_t k = random_.below(lies_per_tick_ + 1); k > 0; --k) {
    lie(habits_[random_.below(static_cast<std::uint32_t>(habits_.size()))], own, newest);
  }
  out_ = nullptr;
}

NodeId Liar::anybody() { return random_.below(boards_); }

void Liar::say(NodeId to, Body body) {
  const bool edge = std::holds_alternative<EdgeBody>(body);
  const Epoch epoch = random_.chance(0.03) ? random_.below(8) : epoch_;
  const std::uint32_t incarnation = random_.chance(0.03) ? incarnation_ + 1 : incarnation_;
  if (to != node_) out_->send(to, epoch, edge ? 0 : incarnation, std::move(body));
}

void Liar::say_some(const Body& body) {
  if (random_.chance(0.5)) return say(anybody(), body);
  for (NodeId to = 0; to < boards_; ++to) say(to, body);
}

Account Liar::any_account(const Register& r) {
  if (r.entries.empty() || random_.chance(0.2)) return {node_, incarnation_};
  Account a = r.entries[random_.below(static_cast<std::uint32_t>(r.entries.size()))].account;
  if (random_.chance(0.1)) ++a.incarnation;
  return a;
}

Parts Liar::number() {
  switch (random_.below(5)) {
    case 0: return 0;
    case 1: return kWhole;
    case 2: return kWhole / 8;
    case 3: return kNumberMax;
    default: return random_.between(0, kWhole);
  }
}

Shares Liar::three() { return {number(), number(), number()}; }

std::uint32_t Liar::version_near(std::uint32_t version) {
  switch (random_.below(8)) {
    case 0: return UINT32_MAX;
    case 1: return kVersionMax;
    case 2: return version;
    case 3: return version + 2;
    default: return version + 1;
  }
}

std::uint64_t Liar::round_near(std::uint64_t round) {
  switch (random_.below(6)) {
    case 0: return kCountMax;
    case 1: return round + kRoundStep;
    case 2: return 0;
    default: return round + random_.below(4);
  }
}

Ballot Liar::ballot(const Register& r) {
  if (random_.chance(0.5)) return {0, node_};
  const bool other = random_.chance(0.3) && !r.keepers.empty();
  const NodeId node =
      other ? r.keepers[random_.below(static_cast<std::uint32_t>(r.keepers.size()))].node : node_;
  return {round_near(random_.below(6)), node};
}

Register Liar::harmless(const Register& r) {
  RegisterEdit edit(r);
  for (int tries = 0; tries < 3; ++tries) edit.open(any_account(r), any_account(r));
  return edit.finish({node_, incarnation_});
}

Register Liar::bent(const Register& r) {
  RegisterEdit edit(r);
  if (random_.chance(0.4)) edit.declare_dead(any_account(r), random_.chance(0.5));
  if (random_.chance(0.3)) edit.open(any_account(r), any_account(r));
  if (random_.chance(0.2)) edit.set_quorum(any_account(r), 1 + random_.below(9), 0);
  for (const Entry& e : r.entries) {
    if (e.ties.empty() || !random_.chance(0.3)) continue;
    const Tie& t = e.ties[random_.below(static_cast<std::uint32_t>(e.ties.size()))];
    edit.close(e.account, {t.peer, t.edge_number, three(), three()});
    break;
  }
  if (random_.chance(0.5)) edit.settle({node_, incarnation_});
  if (random_.chance(0.2)) edit.set_keepers({{node_, incarnation_}});
  Register out = edit.finish({node_, incarnation_});
  if (random_.chance(0.5)) out.version = version_near(r.version);
  if (out.entries.empty()) return out;
  if (random_.chance(0.5)) {
    Entry& from = out.entries[random_.below(static_cast<std::uint32_t>(out.entries.size()))];
    Entry* to = out.find(Account{node_, incarnation_});
    const Parts moved = random_.chance(0.5) ? from.base[0] : number() % kWhole;
    from.base[0] -= moved;
    (to == nullptr ? out.entries.front() : *to).base[0] += moved;
  }
  if (random_.chance(0.2)) out.entries.front().base = three();
  return out;
}

RequestBody Liar::request(const Register& r, const Account& author) {
  RequestBody body;
  body.version = version_near(r.version);
  body.serial = random_.chance(0.3) ? UINT32_MAX : random_.below(2000);
  body.echo = random_.below(4) == 0 ? random_.below(1 << 21) : 0;
  body.leave = random_.chance(0.15);
  if (random_.chance(0.2)) {
    body.quorum_revision = random_.chance(0.3) ? UINT32_MAX : 1 + random_.below(5);
    body.quorum = static_cast<std::uint8_t>(random_.below(5));
  }
  if (random_.chance(0.4)) {
    for (NodeId n = 0; n < std::min<NodeId>(boards_, 12); ++n) body.wanted.push_back(anybody());
  }
  if (const Entry* e = r.find(author)) {
    for (const Tie& t : e->ties) {
      if (random_.chance(0.3)) {
        body.closings.push_back({t.peer, t.edge_number, three(), three()});
        if (random_.chance(0.5)) body.closings.back().sent = {};
      }
      if (random_.chance(0.3)) body.silent.push_back(t.peer);
    }
  }
  return body;
}

void Liar::on_edges(const Ledger& own) {
  for (const Edge& e : own.edges()) {
    if (random_.chance(0.5)) continue;
    EdgeBody body;
    body.edge_number = e.edge_number;
    body.seq = e.seq + 1 + random_.below(3);
    body.ack = random_.chance(0.9) ? e.seq_heard : UINT32_MAX;
    body.has_terms = random_.chance(0.5);
    body.degree = static_cast<std::uint8_t>(random_.below(256));
    for (auto& u : body.urgency) u = static_cast<std::uint16_t>(random_.below(65536));
    body.price_absolute = true;
    for (auto& p : body.price) p = random_.chance(0.5) ? -number() : number();
    body.sent_absolute = true;
    for (std::size_t i = 0; i < kResources; ++i) {
      body.sent[i] = std::min(kNumberMax, e.sent[i] + number() % (2 * kWhole));
    }
    say(e.peer.node, body);
  }
}

void Liar::found(const Ledger& own, const Register& r) {
  const Epoch epoch = random_.chance(0.2)   ? kCountMax
                      : random_.chance(0.5) ? epoch_ + 1 + random_.below(300)
                                            : epoch_ + kEpochStep;
  std::vector<Account> accounts;
  for (const Entry& e : r.entries) {
    if (!e.dead) accounts.push_back(e.account);
  }
  Epoch sum = own.config().founding_epoch;
  for (const Account& a : accounts) sum += a.incarnation;
  switch (random_.below(5)) {
    case 0: return say_some(RollCallBody{random_.below(100)});
    case 1: return say_some(PresentBody{0, epoch, version_near(r.version), {{node_, 1}}, true});
    case 2: return say_some(FoundBody{random_.chance(0.5) ? sum : epoch, accounts});
    case 3: return say_some(FoundAckBody{random_.chance(0.5) ? sum : epoch, true});
    default:
      return say_some(
          PresentBody{1 + random_.below(9), epoch, UINT32_MAX, r.keepers, random_.chance(0.5)});
  }
}

void Liar::lie(Habit habit, const Ledger& own, const Register& r) {
  const Account self{node_, incarnation_};
  switch (habit) {
    case Habit::kStatement: {
      const Account to = any_account(r);
      StatementBody body;
      body.version = version_near(r.version);
      body.incarnation = to.incarnation;
      body.dead = random_.chance(0.3);
      body.confirmed_dead = body.dead && random_.chance(0.5);
      body.living = random_.below(4);
      body.base = random_.chance(0.5) ? Shares{kWhole, kWhole, kWhole} : three();
      body.quorum = static_cast<std::uint8_t>(random_.below(2));
      if (const Entry* e = r.find(to); e != nullptr && random_.chance(0.5)) {
        for (const Tie& t : e->ties)
          body.ties.push_back({t.peer, t.edge_number, false, false, number(), number()});
      }
      body.keepers = random_.chance(0.5) || r.keepers.empty() ? std::vector{self} : r.keepers;
      return say(to.node, body);
    }
    case Habit::kRefer: {
      const Epoch true_epoch = epoch_;
      if (random_.chance(0.7)) {
        epoch_ = random_.chance(0.5) ? kCountMax : epoch_ + 1 + random_.below(100);
      }
      say_some(ReferBody{version_near(r.version), {self}});
      epoch_ = true_epoch;
      return;
    }
    case Habit::kDecided: return say_some(DecidedBody{bent(r)});
    case Habit::kAccept: return say_some(AcceptBody{ballot(r), bent(r)});
    case Habit::kEquivocate: {
      const Ballot at = ballot(r);
      for (const Account& k : r.keepers) say(k.node, AcceptBody{at, harmless(r)});
      return;
    }
    case Habit::kVote: {
      const Register* own_vote = own.voted_for();
      const Register value = own_vote != nullptr && random_.chance(0.7) ? *own_vote : bent(r);
      const bool locked = random_.chance(0.7);
      return say_some(AcceptedBody{r.version + 1, ballot(r), digest_of(value), locked,
                                   locked && random_.chance(0.3)});
    }
    case Habit::kPrepare:
      if (random_.chance(0.3)) return say_some(RefusedBody{r.version + 1, ballot(r)});
      return say_some(PrepareBody{version_near(r.version), {round_near(3), node_}});
    case Habit::kPromise: {
      const Register value = bent(r);
      PromiseBody promise{r.version + 1, ballot(r), ballot(r), digest_of(value), {value}, {}};
      if (random_.chance(0.5)) promise.votes.push_back({ballot(r), promise.digest});
      return say_some(promise);
    }
    case Habit::kRelay: {
      const Account author = any_account(r);
      if (!author.valid()) return;
      return say_some(RelayBody{author, request(r, author)});
    }
    case Habit::kRequest: return say_some(request(r, self));
    case Habit::kEdge: return on_edges(own);
    case Habit::kFounding: return found(own, r);
    case Habit::kReplay:
      if (heard_.empty()) return;
      return say_some(heard_[random_.below(static_cast<std::uint32_t>(heard_.size()))].body);
    case Habit::kMute:
      muted_.clear();
      for (std::uint32_t n = random_.below(4); n > 0; --n) muted_.push_back(anybody());
      return;
    case Habit::kCount: return;
  }
}

}  // namespace laird::lab
