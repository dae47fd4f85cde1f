#include "consensus/voting/suspicions.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

constexpr auto kContactBefore = [](const auto& c, const Account& a) { return c.account < a; };

bool holds(const std::vector<Account>& accounts, const Account& account) {
  return std::find(accounts.begin(), accounts.end(), account) != accounts.end();
}

// How many neighbours will be able to acknowledge the entry's messages once everything that the
// confirmed dead have acknowledged has expired.
std::size_t supporters_to_come(const Register& r, const Entry& e) {
  return static_cast<std::size_t>(std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) {
    const Entry* peer = r.find(t.peer);
    return peer == nullptr || !peer->confirmed_dead;
  }));
}

}  // namespace

void Suspicions::Suspicion::archive(Archive& ar) {
  ar(account);
  ar(silent_since);
  ar(reported_at);
  ar(first_by);
  ar(answered);
  ar(corroborated);
}

void Suspicions::AccountTime::archive(Archive& ar) {
  ar(account);
  ar(at);
}

void Suspicions::archive(Archive& ar) {
  ar.sequence(suspected_, kAccountsMax);
  ar.sequence(confirmed_dead_, kAccountsMax);
  ar.sequence(contacts_, kAccountsMax);
  ar.sequence(probed_, kEdgesMax);
}

void Suspicions::configure(DurationNs tick, DurationNs longest_silence) {
  tick_ = tick;
  longest_silence_ = longest_silence;
}

void Suspicions::begin(const Account& self) {
  const DurationNs tick = tick_;
  const DurationNs longest_silence = longest_silence_;
  *this = Suspicions();
  configure(tick, longest_silence);
  self_ = self;
}

void Suspicions::on_new_version(const Register& decided, TimeNs now) {
  std::erase_if(confirmed_dead_,
                [&](const AccountTime& d) { return decided.find(d.account) == nullptr; });
  for (const Entry& e : decided.entries) {
    if (e.confirmed_dead && !is_confirmed_dead(e.account)) {
      confirmed_dead_.push_back({e.account, now});
    }
  }
  std::erase_if(suspected_, [&](const Suspicion& s) { return !decided.alive(s.account); });
}

bool Suspicions::is_confirmed_dead(const Account& account) const {
  return std::any_of(confirmed_dead_.begin(), confirmed_dead_.end(),
                     [&](const AccountTime& d) { return d.account == account; });
}

const Suspicions::Suspicion* Suspicions::find(const Account& account) const {
  const auto at = std::find_if(suspected_.begin(), suspected_.end(),
                               [&](const Suspicion& s) { return s.account == account; });
  return at == suspected_.end() ? nullptr : &*at;
}

Suspicions::AccountTime* Suspicions::find_contact(const Account& account) {
  const auto at = std::lower_bound(contacts_.begin(), contacts_.end(), account, kContactBefore);
  return at != contacts_.end() && at->account == account ? &*at : nullptr;
}

bool Suspicions::silent_for(const Suspicion& s, int ticks, TimeNs now) const {
  return now - s.silent_since >= ticks * tick_;
}

bool Suspicions::suspect(const Account& account, const Account& by, const Register& decided,
                         TimeNs now) {
  if (account == self_ || !decided.alive(account)) return false;
  for (Suspicion& s : suspected_) {
    if (s.account != account) continue;
    s.reported_at = now;
    s.corroborated |= s.first_by != by;
    return false;
  }
  suspected_.push_back({account, now, now, by, false, false});
  // From now on only an answer to a probe counts as a contact.
  std::erase_if(contacts_, [&](const AccountTime& c) { return c.account == account; });
  return true;
}

void Suspicions::note_successor(const Account& from, const Register& decided, TimeNs now) {
  for (const Entry& e : decided.entries) {
    if (e.account.node != from.node || e.account >= from) continue;
    if (!is_confirmed_dead(e.account)) confirmed_dead_.push_back({e.account, now});
  }
}

bool Suspicions::note_contact(const Account& from, bool answered, TimeNs now) {
  for (Suspicion& s : suspected_) {
    if (s.account != from) continue;
    if (!answered) return false;
    s.silent_since = now;
    s.answered = true;
  }
  if (AccountTime* known = find_contact(from)) {
    known->at = now;
    return false;
  }
  if (contacts_.size() >= kAccountsMax) return false;
  contacts_.insert(std::lower_bound(contacts_.begin(), contacts_.end(), from, kContactBefore),
                   {from, now});
  return holds(probed_, from);
}

void Suspicions::note_alive(const Account& account, TimeNs at) {
  for (Suspicion& s : suspected_) {
    if (s.account != account || at <= s.silent_since) continue;
    s.silent_since = at;
    s.answered = true;
  }
  if (AccountTime* known = find_contact(account)) known->at = std::max(known->at, at);
}

bool Suspicions::is_unresponsive(const Account& account, TimeNs now) const {
  const Suspicion* s = find(account);
  return s != nullptr && silent_for(*s, kUnresponsiveTicks, now);
}

bool Suspicions::never_answered(const Account& account, TimeNs now) const {
  const Suspicion* s = find(account);
  return s != nullptr && silent_for(*s, kUnresponsiveTicks, now) && !s->answered;
}

bool Suspicions::loses_turn(const Account& account, const Register& decided, TimeNs now) const {
  if (!decided.alive(account)) return true;
  const Suspicion* s = find(account);
  if (s == nullptr || !silent_for(*s, kUnresponsiveTicks, now)) return false;
  // Of two living accounts there is nobody else who could corroborate it.
  return s->corroborated || decided.living_count() == 2 ||
         silent_for(*s, kLongUnresponsiveTicks, now);
}

std::vector<Account> Suspicions::unresponsive(int ticks, TimeNs now) const {
  std::vector<Account> out;
  for (const Suspicion& s : suspected_) {
    if (silent_for(s, ticks, now)) out.push_back(s.account);
  }
  return out;
}

std::vector<Account> Suspicions::contacts(TimeNs now) const {
  std::vector<Account> out;
  for (const AccountTime& c : contacts_) {
    if (now - c.at < kRequestTicks * tick_) out.push_back(c.account);
  }
  return out;
}

// An edge to a silent account would have to be closed again, and would delay its settlement.
bool Suspicions::heard_or_probe(const Account& account, TimeNs now) {
  if (is_unresponsive(account, now)) return false;
  const AccountTime* contact = find_contact(account);
  if (contact != nullptr && now - contact->at < kHeardLatelyTicks * tick_) return true;
  if (!account.valid() || probed_.size() >= kEdgesMax) return false;
  if (!holds(probed_, account)) probed_.push_back(account);
  return false;
}

std::size_t Suspicions::supporters(const Register& r, const Entry& e, TimeNs now) const {
  // What a dead neighbour acknowledged before its process ended expires like any acknowledgement.
  const DurationNs expiry = longest_silence_ + tick_;
  return static_cast<std::size_t>(std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) {
    const Entry* peer = r.find(t.peer);
    if (peer == nullptr || !peer->confirmed_dead) return true;
    return std::none_of(confirmed_dead_.begin(), confirmed_dead_.end(), [&](const AccountTime& d) {
      return d.account == t.peer && now - d.at > expiry;
    });
  }));
}

bool Suspicions::review(const Register& candidate, const Register& decided,
                        const std::vector<Account>& closed_upon, TimeNs now) {
  bool news = false;
  // Start probing any account that will soon lack a quorum: the answer is needed by the time the
  // dead neighbours' acknowledgements expire.
  for (const Entry& e : candidate.entries) {
    if (e.dead || supporters_to_come(candidate, e) >= support_needed(e.quorum)) continue;
    news |= suspect(e.account, self_, decided, now);
  }
  std::erase_if(suspected_, [&](const Suspicion& s) {
    const Entry* e = candidate.find(s.account);
    if (e == nullptr || e->dead) return true;
    // An account that stays silent stays suspected: more neighbours may be about to close.
    if (!s.answered || now - s.reported_at <= kRequestTicks * tick_) return false;
    return !holds(closed_upon, s.account) &&
           supporters_to_come(candidate, *e) >= support_needed(e->quorum);
  });
  return news;
}

bool Suspicions::worth_waiting(const Register& next, const std::vector<Account>& closed_upon,
                               TimeNs now) const {
  return std::any_of(suspected_.begin(), suspected_.end(), [&](const Suspicion& s) {
    const Entry* e = next.find(s.account);
    // If the account is silent for longer than that and its neighbours have not closed, it is only
    // this keeper that does not hear it.
    const bool recent = now - s.silent_since < longest_silence_ + kUnresponsiveTicks * tick_;
    const bool neighbours_will_close =
        recent && e != nullptr && std::any_of(e->ties.begin(), e->ties.end(), [&](const Tie& t) {
          return next.alive(t.peer) && !is_unresponsive(t.peer, now);
        });
    const bool silent = silent_for(s, kUnresponsiveTicks, now);
    if (!holds(closed_upon, s.account)) return neighbours_will_close && !s.answered && silent;
    // A neighbour has closed: wait for the probe, then for the other neighbours.
    return silent ? neighbours_will_close : !s.answered;
  });
}

std::uint32_t Suspicions::probe_number(TimeNs now) const {
  const auto tick = static_cast<std::uint64_t>(now / std::max<DurationNs>(tick_, 1));
  return 1 + static_cast<std::uint32_t>(tick % kProbeNumbers);
}

bool Suspicions::answers(const RequestBody& body, TimeNs now) const {
  if (body.echo == 0 || body.echo > kProbeNumbers) return false;
  const std::uint32_t age = (probe_number(now) + kProbeNumbers - body.echo) % kProbeNumbers;
  return age < static_cast<std::uint32_t>(kAnswerTicks);
}

void Suspicions::end_probe(TimeNs now) {
  probed_.clear();
  std::erase_if(contacts_,
                [&](const AccountTime& c) { return now - c.at >= kRequestTicks * tick_; });
}

}  // namespace laird::consensus
