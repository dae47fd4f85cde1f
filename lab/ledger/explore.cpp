#include "lab/ledger/explore.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "consensus/codec.hpp"
#include "consensus/voting/register_voter.hpp"
#include "lab/ledger/world/checker.hpp"
#include "lab/ledger/world/world.hpp"

namespace laird::lab {
namespace {

using consensus::Out;
using consensus::Register;
using consensus::RegisterVoter;
using consensus::RequestBody;

constexpr NodeId kSeats = 3;

struct Sent {
  NodeId from = 0;
  NodeId to = 0;
  std::string bytes;
  auto operator<=>(const Sent&) const = default;
};

struct State {
  std::vector<RegisterVoter> keepers;
  std::vector<Sent> sent;  // sorted; each may still arrive, any number of times
  std::map<std::uint32_t, std::uint64_t>
      decided;  // digest by version, of every decision on this path
  bool amnesia = false;
};

std::uint64_t digest(Register value) {
  Archive ar = Archive::hasher();
  ar(value);
  return ar.digest();
}

std::uint64_t digest(State& s) {
  Archive ar = Archive::hasher();
  for (RegisterVoter& k : s.keepers) ar(k);
  for (const Sent& m : s.sent) {
    std::uint32_t ends = m.from << 8 | m.to;
    ar(ends);
    ar.raw(m.bytes);
  }
  for (const auto& [version, value] : s.decided) {
    std::uint64_t pair = value ^ version;
    ar(pair);
  }
  ar(s.amnesia);
  return ar.digest();
}

class Search {
 public:
  explicit Search(const AgreementBounds& bounds) : bounds_(bounds) {}
  ExploreResult run();

 private:
  [[nodiscard]] State first() const;
  void take_over(State& state) const;
  void establish(State& state) const;
  void expand(const State& state);
  void keep(State&& state);
  void take(State& state, NodeId from, Out& out) const;
  void deliver(State& state, const Sent& m) const;
  void note_decisions(State& state);

  AgreementBounds bounds_;
  std::deque<State> open_;
  std::set<std::uint64_t> met_;
  ExploreResult result_;
};

State Search::first() const {
  State s;
  std::vector<Account> accounts;
  for (NodeId n = 0; n < kSeats; ++n) accounts.push_back({n, 1});
  const NeighbourGraph graph({0, 1, 2});
  const Register founding = consensus::founding_register(graph, accounts);
  Out out;
  for (NodeId n = 0; n < kSeats; ++n) {
    RegisterVoter k;
    // With ticks of length zero, whatever waits for time to pass may happen at once.
    k.configure({0, 0}, 1, {false, false, true, bounds_.forgetful_promises});
    k.begin({n, 1}, founding, kDay);
    s.keepers.push_back(std::move(k));
  }
  // Each keeper has heard another request: account 0 closes its edge to 2, account 2 closes the
  // same edge with other numbers, and account 1 closes its own edge to 2.
  RequestBody zero;
  zero.version = 1;
  zero.closings = {{{2, 1}, 0, {70, 0, 0}, {30, 0, 0}}};
  RequestBody two;
  two.version = 1;
  two.closings = {{{0, 1}, 0, {40, 0, 0}, {50, 0, 0}}};
  RequestBody one;
  one.version = 1;
  one.closings = {{{2, 1}, 0, {5, 0, 0}, {0, 0, 0}}};
  s.keepers[0].on_request({0, 1}, zero, kDay, out);
  s.keepers[1].on_request({2, 1}, two, kDay, out);
  s.keepers[2].on_request({1, 1}, one, kDay, out);
  return s;
}

// If so asked: keepers 0 and 1 vote and lock, keeper 0 decides, and nobody else has heard of it.
// Otherwise keeper 0 proposes, and nobody hears the proposal. Keeper 1 asks for the floor; keeper 0
// promises it and tells what it has voted for; keeper 1 has to finish that proposal. Both then
// receive another request.
void Search::take_over(State& state) const {
  const auto tick = [&](NodeId n) {
    Out out;
    state.keepers[n].on_tick(kDay, out);
    take(state, n, out);
  };
  const auto pass = [&](NodeId from, NodeId to) {
    const auto sent = state.sent;
    state.sent.clear();
    for (const Sent& m : sent) {
      if (m.from == from && m.to == to) deliver(state, m);
    }
  };
  tick(0);
  if (bounds_.decided) {
    pass(0, 1);
    pass(1, 0);
    state.sent.clear();
    return;
  }
  state.sent.clear();
  tick(1);
  pass(1, 0);
  pass(0, 1);
  const auto more = [&](NodeId keeper, NodeId from, NodeId peer) {
    RequestBody body;
    body.version = 1;
    body.closings = {{{peer, 1}, 0, {9, 0, 0}, {4, 0, 0}}};
    Out out;
    state.keepers[keeper].on_request({from, 1}, body, kDay, out);
  };
  more(0, 2, 1);
  more(1, 1, 0);
}

// Keeper 1 gets version 2 decided after a first phase, with keeper 2; keeper 0 is told. Keepers 1
// and 0 then receive different requests. Keeper 0 asks keeper 2 for the floor, which keeper 2 has
// promised to keeper 1; if keeper 2 has forgotten that, the two go on to decide.
void Search::establish(State& state) const {
  const auto all_of = [&](NodeId a, NodeId b) {
    for (int again = 0; again < 6; ++again) {
      const auto sent = std::move(state.sent);
      state.sent.clear();
      for (const Sent& m : sent) {
        const bool between = (m.from == a && m.to == b) || (m.from == b && m.to == a);
        if (between) deliver(state, m);
      }
    }
    state.sent.clear();
  };
  Out out;
  state.keepers[1].on_tick(kDay, out);
  take(state, 1, out);
  all_of(1, 2);
  const Register decided = state.keepers[1].value();
  for (const NodeId by : {NodeId{1}, NodeId{2}}) {
    state.keepers[0].on_decided({by, 1}, decided, consensus::kWords, kDay, out);
  }
  out.clear();
  const auto ask = [&](NodeId keeper, NodeId from, NodeId peer) {
    RequestBody body;
    body.version = 2;
    body.closings = {{{peer, 1}, 0, {9, 0, 0}, {4, 0, 0}}};
    state.keepers[keeper].on_request({from, 1}, body, kDay, out);
    out.clear();
  };
  ask(0, 2, 1);
  ask(1, 0, 1);
  state.keepers[0].on_tick(kDay, out);
  take(state, 0, out);
  for (int exchanges = 0; exchanges < 2; ++exchanges) {
    for (const auto& [from, to] : {std::pair<NodeId, NodeId>{0, 2}, {2, 0}}) {
      const auto sent = std::move(state.sent);
      state.sent.clear();
      for (const Sent& m : sent) {
        if (m.from == from && m.to == to) deliver(state, m);
      }
    }
  }
}

void Search::take(State& state, NodeId from, Out& out) const {
  for (const auto& o : out.messages) {
    // Relays of requests are left out: the start already fixes which requests each keeper has
    // heard.
    if (o.to >= kSeats || std::holds_alternative<consensus::RelayBody>(o.message.body)) continue;
    Bytes bytes;
    encode(o.message, bytes);
    const Sent m{from, o.to, std::string(bytes.begin(), bytes.end())};
    const auto at = std::lower_bound(state.sent.begin(), state.sent.end(), m);
    if (at == state.sent.end() || *at != m) state.sent.insert(at, m);
  }
  out.clear();
}

void Search::deliver(State& state, const Sent& m) const {
  const auto message = consensus::decode(m.bytes);
  RegisterVoter& k = state.keepers[m.to];
  const Account from{m.from, message->from_incarnation};
  Out out;
  const TimeNs t = kDay;
  if (const auto* b = std::get_if<consensus::PrepareBody>(&message->body)) {
    k.on_prepare(from, *b, t, out);
  } else if (const auto* p = std::get_if<consensus::PromiseBody>(&message->body)) {
    k.on_promise(from, *p, t, out);
  } else if (const auto* a = std::get_if<consensus::AcceptBody>(&message->body)) {
    k.on_accept(from, *a, t, out);
  } else if (const auto* d = std::get_if<consensus::AcceptedBody>(&message->body)) {
    k.on_accepted(from, *d, t, out);
  } else if (const auto* r = std::get_if<consensus::RefusedBody>(&message->body)) {
    k.on_refused(from, *r, t);
  } else if (const auto* v = std::get_if<consensus::DecidedBody>(&message->body)) {
    k.on_decided(from, v->value, consensus::kWords, t, out);
  }
  take(state, m.to, out);
}

void Search::note_decisions(State& state) {
  for (const RegisterVoter& k : state.keepers) {
    const Register& value = k.value();
    if (value.version == 0) continue;
    const auto [at, first] = state.decided.emplace(value.version, digest(value));
    if (!first && at->second != digest(value)) {
      result_.violation = "two registers of version " + std::to_string(value.version);
    }
    result_.versions = std::max(result_.versions, value.version);
    Parts sum = 0;
    for (const auto& e : value.entries) sum += e.base[0];
    if (sum != consensus::kWhole) result_.violation = "a register whose bases are not the whole";
  }
}

void Search::keep(State&& state) {
  ++result_.transitions;
  note_decisions(state);
  if (!result_.violation.empty()) return;
  if (state.sent.size() > bounds_.messages_max) return;
  if (met_.size() >= bounds_.states_max) {
    result_.complete = false;
    return;
  }
  if (!met_.insert(digest(state)).second) return;
  open_.push_back(std::move(state));
}

void Search::expand(const State& state) {
  for (const Sent& m : state.sent) {
    State next = state;
    deliver(next, m);
    keep(std::move(next));
  }
  for (NodeId n = 0; n < kSeats; ++n) {
    State next = state;
    Out out;
    next.keepers[n].on_tick(kDay, out);
    take(next, n, out);
    keep(std::move(next));
  }
  if (!state.amnesia && (bounds_.amnesia || bounds_.forgetful_voters)) {
    State next = state;
    next.amnesia = true;
    if (bounds_.forgetful_voters) {
      next.keepers[1].begin({1, 1}, next.keepers[1].value(), kDay);
    } else {
      next.keepers[1].begin({1, 2}, {}, kDay);
    }
    keep(std::move(next));
  }
}

ExploreResult Search::run() {
  result_.complete = true;
  State start = first();
  if (bounds_.taken_over) take_over(start);
  if (bounds_.established) establish(start);
  keep(std::move(start));
  while (!open_.empty() && result_.violation.empty()) {
    const State state = std::move(open_.front());
    open_.pop_front();
    expand(state);
  }
  result_.states = met_.size();
  return result_;
}

enum class Way : std::uint8_t { kNever, kJournal, kFresh };

struct Life {
  NodeId node = 0;
  std::int64_t at = 0;
  Way way = Way::kNever;
  std::int64_t away = 0;
};

// Runs a fleet with those two crashes; returns what broke, or nothing.
std::string run_lives(int nodes, const Life& one, const Life& two, ExploreResult& result) {
  constexpr int kLease = 20;
  std::vector<NodeId> ids;
  ids.reserve(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) ids.push_back(static_cast<NodeId>(i));
  consensus::LedgerConfig config;
  config.lease = kLease * config.tick;
  World world(config, std::make_shared<NeighbourGraph>(ids), NetworkConfig{}, 1);
  consensus::Demand all;
  all.demand = consensus::kWhole;
  world.boards()[0].ledger->set_demand(0, all);
  Checker checker;
  const auto act = [&](const Life& life) {
    if (world.tick() == life.at) world.crash(life.node);
    if (world.tick() != life.at + life.away) return;
    if (life.way == Way::kJournal) world.restart_with_journal(life.node);
    if (life.way == Way::kFresh) world.restart_without_journal(life.node);
  };
  const std::int64_t calm = std::max(one.at + one.away, two.at + two.away) + 1;
  std::string operator_reason;
  Parts left = 0;
  while (world.tick() < calm + 20 * kLease) {
    act(one);
    act(two);
    world.step();
    checker.check(world);
    ++result.transitions;
    if (!checker.result().first_break.empty()) return checker.result().first_break;
    if (world.tick() == calm) operator_reason = needs_operator(world);
    if (world.tick() < calm + kLease || world.tick() % 5 != 0) continue;
    left = stranded(world, 0);
    if (left == 0) return "";
  }
  if (!operator_reason.empty()) {
    ++result.needs_operator;
    return "";
  }
  return "stranded " + std::to_string(left) + " parts";
}

std::string told(const Life& l) {
  static const char* kWays[] = {"for good", "and returns with its journal", "and returns without"};
  return "board " + std::to_string(l.node) + " dies at " + std::to_string(l.at) + " " +
         kWays[static_cast<int>(l.way)] + " after " + std::to_string(l.away);
}

std::vector<Life> lives_at(NodeId node, std::int64_t at) {
  std::vector<Life> out{{node, at, Way::kNever, 0}};
  for (const std::int64_t away : {4, 18, 30}) {
    out.push_back({node, at, Way::kJournal, away});
    out.push_back({node, at, Way::kFresh, away});
  }
  return out;
}

}  // namespace

ExploreResult explore_agreement(const AgreementBounds& bounds) { return Search(bounds).run(); }

ExploreResult explore_lives(const LifeBounds& bounds) {
  ExploreResult result;
  result.complete = true;
  for (NodeId first = 0; first < static_cast<NodeId>(bounds.nodes); ++first) {
    for (const Life& one : lives_at(first, 10)) {
      for (NodeId second = 0; second < static_cast<NodeId>(bounds.nodes); ++second) {
        if (second == first) continue;
        for (std::int64_t at = 10; at <= 60; at += bounds.grid_ticks) {
          for (const Life& two : lives_at(second, at)) {
            ++result.states;
            const std::string broken = run_lives(bounds.nodes, one, two, result);
            if (broken.empty()) continue;
            result.violation = told(one) + ", " + told(two) + ": " + broken;
            return result;
          }
        }
      }
    }
  }
  return result;
}

}  // namespace laird::lab
