#include "consensus/ledger/founding.hpp"

#include <algorithm>

#include "consensus/ledger/ledger.hpp"

namespace laird::consensus {

void Founding::Answer::archive(Archive& ar) {
  ar(from);
  ar(body.call);
  ar(body.founding_epoch);
  ar(body.version);
  ar.sequence(body.keepers, kKeepersMax);
}

void Founding::archive(Archive& ar) {
  ar(promised);
  ar.sequence(accounts, kAccountsMax);
  ar(promised_at);
  ar(wanted_until);
  ar(called_at);
  ar(call_since);
  ar(call);
  ar(lost_calls);
  ar.sequence(answers, kAccountsMax);
  ar(founding_epoch);
  ar(starting);
  ar.sequence(list, kAccountsMax);
  ar.sequence(left, kAccountsMax);
}

// Whether this node has waited for long to be entered, or for an urgent request to have an effect.
bool Ledger::stuck(TimeNs now) const {
  const DurationNs patience = register_patience(config_.lease);
  return (outside_since_ != kNever && now - outside_since_ > patience) ||
         (urgent_since_ != kNever && now - urgent_since_ > patience);
}

PresentBody Ledger::present(std::uint32_t call) const {
  PresentBody body;
  body.call = call;
  body.founding_epoch = founding_epoch_;
  body.version = voter_.value().version;
  body.keepers = voter_.value().keepers;
  return body;
}

void Ledger::found_if_lost(TimeNs now, Out& out) {
  if (members_->members().empty() || !members_->has(self_.node)) return;
  const bool mine = caller() == self_.node;
  if (stuck(now)) {
    if (mine) {
      founding_.wanted_until = now + config_.lease;
    } else if (ticks_ % kRollCallTicks == 0) {
      send(caller(), present(0), out);
    }
  }
  if (!mine) return;
  if (now > founding_.wanted_until && founding_.founding_epoch == 0) return;
  if (founding_.founding_epoch == 0) {
    call_roll(now, out);
    return;
  }
  if (now - founding_.call_since > kFoundingTicksMax * config_.tick) {
    founding_.founding_epoch = 0;
    founding_.call_since = 0;
    return;
  }
  if (now - founding_.called_at < kRollCallTicks * config_.tick) return;
  founding_.called_at = now;
  for (const Account& a : founding_.list) {
    const FoundBody body{founding_.founding_epoch, founding_.starting, founding_.list};
    if (a.node != self_.node) send(a.node, body, out);
  }
}

void Ledger::call_roll(TimeNs now, Out& out) {
  Founding& f = founding_;
  if (f.call_since == 0 || now - f.call_since > kFoundingTicksMax * config_.tick) {
    f.call = (self_.incarnation << 12) | ((f.call + 1) & 0xFFF);
    f.call_since = now;
    f.called_at = 0;
    f.answers = {{self_, present(f.call)}};
    f.answers.front().body.founding_epoch = std::max(founding_epoch_, f.promised);
  }
  judge_roll(now);
  if (f.founding_epoch != 0 || f.call_since == 0 ||
      (f.called_at != 0 && now - f.called_at < kRollCallTicks * config_.tick))
    return;
  f.called_at = now;
  for (const NodeId node : members_->members()) {
    const bool known = std::any_of(f.answers.begin(), f.answers.end(),
                                   [&](const auto& a) { return a.from.node == node; });
    if (!known) send(node, RollCallBody{f.call}, out);
  }
}

// Asked when all members have answered: whether fewer keepers than a majority are left of the
// newest register that anybody still holds.
bool Ledger::register_lost() const {
  std::uint32_t founding_epoch = 0;
  for (const auto& a : founding_.answers)
    founding_epoch = std::max(founding_epoch, a.body.founding_epoch);
  const Founding::Answer* best = nullptr;
  for (const auto& a : founding_.answers) {
    if (a.body.founding_epoch != founding_epoch || a.body.keepers.empty()) continue;
    if (best == nullptr || a.body.version > best->body.version) best = &a;
  }
  if (best == nullptr) return true;
  const auto& keepers = best->body.keepers;
  const auto standing = std::count_if(keepers.begin(), keepers.end(), [&](const Account& k) {
    return std::any_of(founding_.answers.begin(), founding_.answers.end(), [&](const auto& a) {
      return a.from == k && a.body.founding_epoch == founding_epoch;
    });
  });
  return static_cast<std::size_t>(standing) < keepers.size() / 2 + 1;
}

void Ledger::judge_roll(TimeNs now) {
  Founding& f = founding_;
  if (f.answers.size() < members_->members().size()) return;
  // This node's own answer may be out of date since the call began.
  std::erase_if(f.answers, [&](const auto& a) { return a.from.node == self_.node; });
  f.answers.push_back({self_, present(f.call)});
  f.answers.back().body.founding_epoch = std::max(founding_epoch_, f.promised);
  if (!register_lost()) {
    f.wanted_until = INT64_MIN;
    f.call_since = 0;
    f.lost_calls = 0;
    return;
  }
  // Answers that were gathered while boards came and went may contradict each other, so only the
  // second roll call in a row that finds the register lost counts.
  if (++f.lost_calls < 2) {
    f.call_since = 0;
    return;
  }
  f.lost_calls = 0;
  f.list.clear();
  std::uint32_t sum = config_.founding_epoch;
  for (const auto& a : f.answers) {
    f.list.push_back(a.from);
    sum += a.from.incarnation;
  }
  std::sort(f.list.begin(), f.list.end());
  f.founding_epoch = sum;
  f.starting = false;
  f.left.clear();
  f.call_since = now;
  f.called_at = 0;
  Out none;
  on_found(self_, {f.founding_epoch, false, f.list}, now, none);
  if (f.promised == f.founding_epoch) {
    f.left = {self_};
  } else {
    f.founding_epoch = 0;
    f.call_since = 0;
  }
}

bool Ledger::on_founding_message(const Account& from, const Message& m, TimeNs now, Out& out) {
  Founding& f = founding_;
  if (const auto* call = std::get_if<RollCallBody>(&m.body)) {
    PresentBody body = present(call->call);
    body.founding_epoch = std::max(body.founding_epoch, f.promised);
    send(from.node, body, out);
  } else if (const auto* p = std::get_if<PresentBody>(&m.body)) {
    if (p->call == 0) {
      f.wanted_until = std::max(f.wanted_until, now + config_.lease);
    } else if (p->call == f.call && f.founding_epoch == 0 && members_->has(from.node)) {
      std::erase_if(f.answers, [&](const auto& a) { return a.from.node == from.node; });
      f.answers.push_back({from, *p});
    }
  } else if (const auto* found = std::get_if<FoundBody>(&m.body)) {
    on_found(from, *found, now, out);
  } else if (const auto* ack = std::get_if<FoundAckBody>(&m.body)) {
    const bool listed = std::find(f.list.begin(), f.list.end(), from) != f.list.end();
    if (f.founding_epoch == 0 || ack->founding_epoch != f.founding_epoch || !listed) return true;
    if (std::find(f.left.begin(), f.left.end(), from) == f.left.end()) f.left.push_back(from);
    if (f.left.size() == f.list.size() && !f.starting && f.promised == f.founding_epoch) {
      f.starting = true;
      f.call_since = now;
      f.called_at = 0;
      start_epoch(now);
    }
  } else {
    return false;
  }
  return true;
}

void Ledger::on_found(const Account& from, const FoundBody& body, TimeNs now, Out& out) {
  Founding& f = founding_;
  const bool listed =
      std::find(body.accounts.begin(), body.accounts.end(), self_) != body.accounts.end();
  if (from.node != caller() || !listed || body.founding_epoch <= founding_epoch_ ||
      body.founding_epoch < f.promised)
    return;
  std::vector<NodeId> nodes;
  for (const Account& a : body.accounts) nodes.push_back(a.node);
  if (nodes != members_->members()) return;
  if (body.founding_epoch > f.promised) {
    // The node leaves all earlier epochs: from here on it holds nothing.
    f.promised = body.founding_epoch;
    f.accounts = body.accounts;
    f.promised_at = now;
    founding_epoch_ = 0;
    keepers_version_ = 0;
    begin(self_.incarnation, now);
  }
  if (body.start) {
    start_epoch(now);
  } else if (from != self_) {
    send(from.node, FoundAckBody{body.founding_epoch}, out);
  }
}

void Ledger::start_epoch(TimeNs now) {
  const std::vector<Account> accounts = founding_.accounts;
  const std::uint32_t founding_epoch = founding_.promised;
  if (std::find(accounts.begin(), accounts.end(), self_) == accounts.end()) return;
  std::vector<NodeId> nodes;
  nodes.reserve(accounts.size());
  for (const Account& a : accounts) nodes.push_back(a.node);
  founding_epoch_ = founding_epoch;
  founding_.promised = 0;
  founding_.accounts.clear();
  found(founding_register(NeighbourGraph(nodes), accounts), now);
}

}  // namespace laird::consensus
