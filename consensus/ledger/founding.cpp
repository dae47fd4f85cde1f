#include "consensus/ledger/founding.hpp"

#include <algorithm>

#include "consensus/ledger/ledger.hpp"

namespace laird::consensus {

void Founding::Answer::archive(Archive& ar) {
  ar(from);
  archive_widened(ar, body.call);
  archive_widened(ar, body.founding_epoch);
  ar(body.version);
  ar.sequence(body.keepers, kKeepersMax);
  if (ar.since(7)) ar(body.holds);
}

void Founding::archive(Archive& ar) {
  archive_widened(ar, promised);
  ar.sequence(accounts, kAccountsMax);
  ar(promised_at);
  ar(wanted_until);
  ar(called_at);
  ar(call_since);
  archive_widened(ar, call);
  ar(lost_calls);
  ar.sequence(answers, kAccountsMax);
  archive_widened(ar, founding_epoch);
  ar(starting);
  ar.sequence(list, kAccountsMax);
  ar.sequence(left, kAccountsMax);
  if (!ar.since(5)) return;
  ar.sequence(complete, kAccountsMax);
  ar(lost_epoch);
  ar(lost_version);
}

namespace {

void note(std::vector<Account>& list, const Account& account) {
  if (std::find(list.begin(), list.end(), account) == list.end()) list.push_back(account);
}

}  // namespace

// Whether this node has waited for long to be entered, or for an urgent request to have an effect.
bool Ledger::stuck(TimeNs now) const {
  const DurationNs patience = register_patience(config_.lease);
  return (outside_since_ != kNever && now - outside_since_ > patience) ||
         (urgent_since_ != kNever && now - urgent_since_ > patience);
}

// Where this node takes part, and whom it knows as keepers there.
PresentBody Ledger::present(std::uint64_t call) const {
  PresentBody body;
  body.call = call;
  body.founding_epoch = std::max(founding_epoch_, founding_.promised);
  if (founding_epoch_ == 0) return body;
  body.version = std::max(keepers_version_, voter_.value().version);
  if (body.version == 0) return body;
  body.holds = voter_.value().version >= keepers_version_;
  body.keepers = body.holds ? voter_.value().keepers : keepers_;
  return body;
}

void Ledger::found_if_lost(TimeNs now, Out& out) {
  Founding& f = founding_;
  if (members_->members().empty() || !members_->has(self_.node)) return;
  if (f.promised != 0 && ticks_ % kRollCallTicks == 0) tell_left(out);
  const bool mine = caller() == self_.node;
  if (stuck(now)) {
    if (mine) {
      f.wanted_until = now + config_.lease;
    } else if (ticks_ % kRollCallTicks == 0) {
      send(caller(), present(0), out);
    }
  }
  if (!mine) {
    if (now <= f.wanted_until) call_roll(now, out);
    return;
  }
  if (now > f.wanted_until && f.founding_epoch == 0) return;
  if (f.founding_epoch == 0) {
    call_roll(now, out);
    judge_roll(now);
    return;
  }
  if (now - f.call_since > kFoundingTicksMax * config_.tick) {
    f.founding_epoch = 0;
    f.call_since = 0;
    return;
  }
  if (now - f.called_at < kRollCallTicks * config_.tick) return;
  f.called_at = now;
  for (const Account& a : f.list) {
    if (a.node != self_.node) send(a.node, FoundBody{f.founding_epoch, f.list}, out);
  }
}

// A new call, to which no earlier answer belongs.
void Ledger::begin_roll(TimeNs now) {
  Founding& f = founding_;
  constexpr std::uint64_t kCalls = (1ULL << kCallBits) - 1;
  f.call = (static_cast<std::uint64_t>(self_.incarnation) << kCallBits) | ((f.call + 1) & kCalls);
  f.call_since = now;
  f.called_at = 0;
  f.answers.clear();
}

// Asks every member that has not answered yet.
void Ledger::call_roll(TimeNs now, Out& out) {
  Founding& f = founding_;
  if (f.call_since == 0 || now - f.call_since > kFoundingTicksMax * config_.tick) begin_roll(now);
  if (f.called_at != 0 && now - f.called_at < kRollCallTicks * config_.tick) return;
  f.called_at = now;
  for (const NodeId node : members_->members()) {
    const bool known =
        node == self_.node || std::any_of(f.answers.begin(), f.answers.end(),
                                          [&](const auto& a) { return a.from.node == node; });
    if (!known) send(node, RollCallBody{f.call}, out);
  }
}

void Ledger::take_present(const Account& from, const PresentBody& body) {
  Founding& f = founding_;
  std::erase_if(f.answers, [&](const auto& a) { return a.from.node == from.node; });
  f.answers.push_back({from, body});
}

// Whether the keepers that an answer names could still decide: enough of them have answered for
// themselves, from that epoch, and so many of these hold the version that the others believe them.
// In a fleet of four and more, nobody believes one keeper but who knows it as the only one.
bool Ledger::stands(const PresentBody& claim) const {
  if (claim.keepers.empty()) return false;
  const bool alone = claim.keepers.size() == 1;
  std::size_t standing = 0;
  std::size_t knowing = 0;
  for (const auto& a : founding_.answers) {
    if (a.body.founding_epoch != claim.founding_epoch) continue;
    const bool seated =
        std::find(claim.keepers.begin(), claim.keepers.end(), a.from) != claim.keepers.end();
    standing += seated ? 1 : 0;
    const bool knows = alone ? a.body.keepers == claim.keepers
                             : seated && a.body.holds && a.body.version >= claim.version;
    knowing += knows ? 1 : 0;
  }
  const std::size_t needed = votes_needed(claim.keepers.size());
  const bool few = members_->members().size() <= kWords + 1;
  return standing >= needed && knowing >= (few ? std::min(needed, kWords) : kWords);
}

// Asked when all members have answered: whether none of the newest registers that anybody knows of
// could go on. One answer may be a lie, so the newest two of different members are looked at, and
// what this node knows itself; one that stands is enough. Answers come at different times, so a
// register that still moves is never lost.
bool Ledger::register_lost(TimeNs now) const {
  if (founding_epoch_ != 0 && version_ != 0 && now - told_at_ < config_.lease) return false;
  std::vector<const PresentBody*> newest;
  for (const auto& a : founding_.answers) {
    if (!a.body.keepers.empty()) newest.push_back(&a.body);
  }
  std::sort(newest.begin(), newest.end(), [](const PresentBody* a, const PresentBody* b) {
    return std::pair{a->founding_epoch, a->version} > std::pair{b->founding_epoch, b->version};
  });
  const auto later = [](const PresentBody& a, const PresentBody& b) {
    return std::pair{a.founding_epoch, a.version} > std::pair{b.founding_epoch, b.version};
  };
  const PresentBody own = present(0);
  const PresentBody* last = newest.size() < kWords ? nullptr : newest[kWords - 1];
  return std::none_of(newest.begin(), newest.end(), [&](const PresentBody* p) {
    const bool old = (last != nullptr && later(*last, *p)) || later(own, *p);
    return !old && stands(*p);
  });
}

// Answers that were gathered while boards came and went may contradict each other, and a register
// that is at work has moved on while they came. So only the second roll call in a row that finds
// the register lost counts, and only if nothing newer has shown up since the first.
bool Ledger::lost_again(TimeNs now) {
  Founding& f = founding_;
  if (!register_lost(now)) {
    f.lost_calls = 0;
    return false;
  }
  std::vector<std::pair<Epoch, std::uint32_t>> known;
  for (const auto& a : f.answers) {
    if (!a.body.keepers.empty()) known.emplace_back(a.body.founding_epoch, a.body.version);
  }
  std::sort(known.begin(), known.end(), std::greater<>());
  // The highest one alone may be a lie.
  const auto newest =
      known.empty() ? std::pair<Epoch, std::uint32_t>{} : known[std::min(known.size(), kWords) - 1];
  const bool moved = newest > std::pair{f.lost_epoch, f.lost_version};
  f.lost_calls = f.lost_calls == 0 || moved ? 1 : 2;
  f.lost_epoch = newest.first;
  f.lost_version = newest.second;
  return f.lost_calls == 2;
}

// The number of a founding by these accounts. It is greater than that of any earlier one that this
// node or two members know of.
Epoch Ledger::next_epoch(const std::vector<Account>& accounts) const {
  Epoch sum = config_.founding_epoch;
  for (const Account& a : accounts) sum += a.incarnation;
  const Epoch promised = founding_.promised + (founding_.accounts == accounts ? 0 : 1);
  return std::max({sum, founding_epoch_ + 1, promised, words_.agreed_epoch(kWords) + 1});
}

void Ledger::judge_roll(TimeNs now) {
  Founding& f = founding_;
  take_present(self_, present(f.call));
  if (f.answers.size() < members_->members().size()) return;
  const bool again = lost_again(now);
  f.call_since = 0;
  if (f.lost_calls == 0) f.wanted_until = INT64_MIN;
  if (!again) return;
  f.lost_calls = 0;
  f.list.clear();
  Epoch known = 0;
  for (const auto& a : f.answers) {
    f.list.push_back(a.from);
    known = std::max(known, a.body.founding_epoch);
  }
  std::sort(f.list.begin(), f.list.end());
  // One member alone may remember the last epoch, or have promised a later one, or pretend so.
  const Epoch least = next_epoch(f.list);
  const bool same = f.promised == known && f.accounts == f.list;
  f.founding_epoch = std::max(least, std::min(known + (same ? 0 : 1), least + kEpochStep / 2));
  f.starting = false;
  f.call_since = now;
  f.called_at = 0;
  Out none;
  on_found(self_, {f.founding_epoch, f.list}, now, none);
  if (f.promised == f.founding_epoch) return;
  f.founding_epoch = 0;
  f.call_since = 0;
}

bool Ledger::on_founding_message(const Account& from, const Message& m, TimeNs now, Out& out) {
  Founding& f = founding_;
  if (const auto* call = std::get_if<RollCallBody>(&m.body)) {
    send(from.node, present(call->call), out);
  } else if (const auto* p = std::get_if<PresentBody>(&m.body)) {
    if (p->call == 0) {
      f.wanted_until = std::max(f.wanted_until, now + config_.lease);
    } else if (p->call == f.call && f.founding_epoch == 0 && members_->has(from.node)) {
      take_present(from, *p);
    }
  } else if (const auto* found = std::get_if<FoundBody>(&m.body)) {
    on_found(from, *found, now, out);
  } else if (const auto* ack = std::get_if<FoundAckBody>(&m.body)) {
    on_found_ack(from, *ack, now, out);
  } else {
    return false;
  }
  return true;
}

// The node leaves all earlier epochs, if by its own knowledge there is no register any more that
// works. A node that takes part in an epoch asks everybody first, even if it is fenced: the lowest
// member alone must not talk it out of its account.
void Ledger::on_found(const Account& from, const FoundBody& body, TimeNs now, Out& out) {
  Founding& f = founding_;
  const bool listed =
      std::find(body.accounts.begin(), body.accounts.end(), self_) != body.accounts.end();
  std::vector<NodeId> nodes;
  for (const Account& a : body.accounts) nodes.push_back(a.node);
  if (body.founding_epoch == founding_epoch_ && founding_epoch_ != 0) return;  // started already
  const Epoch least = next_epoch(body.accounts);
  const bool known_step = body.founding_epoch >= least && body.founding_epoch <= least + kEpochStep;
  const bool later = body.founding_epoch > founding_epoch_ && body.founding_epoch >= f.promised;
  if ((!config_.faults.trusting && !known_step) || !later || from.node != caller() || !listed ||
      nodes != members_->members()) {
    return refuse(Refusal::kEpoch);
  }
  if (body.founding_epoch > f.promised) {
    // One promise at a time: a caller that lies does not drive the number up.
    if (f.promised != 0 && from != self_ &&
        now - f.promised_at < kFoundingTicksMax * config_.tick) {
      return;
    }
    if (founding_epoch_ != 0 && from != self_ && !config_.faults.trusting) {
      const bool asked = f.answers.size() >= members_->members().size() - 1 && f.call_since != 0;
      f.wanted_until = now + kRollCallTicks * config_.tick;  // the roll is called at the next tick
      if (!asked) return;
      take_present(self_, present(f.call));
      f.call_since = 0;
      if (!lost_again(now)) return refuse(Refusal::kEpoch);
      f.lost_calls = 0;
    }
    // From here on the node holds nothing, and believes in another epoch only what it hears from
    // now on.
    words_.forget();
    f.promised = body.founding_epoch;
    f.accounts = body.accounts;
    f.promised_at = now;
    f.left = {self_};
    f.complete.clear();
    founding_epoch_ = 0;
    keepers_version_ = 0;
    begin(self_.incarnation, now);
  }
  tell_left(out);
  if (f.left.size() == f.accounts.size()) start_epoch(now);
}

// Says to every member that this node has left all earlier epochs.
void Ledger::tell_left(Out& out) const {
  const bool all = founding_.left.size() == founding_.accounts.size();
  for (const Account& a : founding_.accounts) {
    if (a != self_) send(a.node, FoundAckBody{founding_.promised, all}, out);
  }
}

void Ledger::on_found_ack(const Account& from, const FoundAckBody& body, TimeNs now, Out& out) {
  Founding& f = founding_;
  if (body.founding_epoch == founding_epoch_ && founding_epoch_ != 0) {
    // This node has started already; it tells whoever still counts that all have left.
    if (!body.all) send(from.node, FoundAckBody{founding_epoch_, true}, out);
    return;
  }
  const bool listed = std::find(f.accounts.begin(), f.accounts.end(), from) != f.accounts.end();
  if (f.promised == 0 || body.founding_epoch != f.promised || !listed) return;
  note(f.left, from);
  if (body.all) note(f.complete, from);
  const std::size_t words = config_.faults.trusting ? 1 : kWords;
  if (f.left.size() == f.accounts.size() || f.complete.size() >= words) {
    f.starting = f.founding_epoch == f.promised;
    f.call_since = now;
    start_epoch(now);
  }
}

void Ledger::start_epoch(TimeNs now) {
  const std::vector<Account> accounts = founding_.accounts;
  const Epoch founding_epoch = founding_.promised;
  if (std::find(accounts.begin(), accounts.end(), self_) == accounts.end()) return;
  std::vector<NodeId> nodes;
  nodes.reserve(accounts.size());
  for (const Account& a : accounts) nodes.push_back(a.node);
  founding_epoch_ = founding_epoch;
  founding_.promised = 0;
  founding_.accounts.clear();
  founding_.left.clear();
  founding_.complete.clear();
  found(founding_register(NeighbourGraph(nodes), accounts), now);
}

}  // namespace laird::consensus
