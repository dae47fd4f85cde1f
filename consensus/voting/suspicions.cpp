// Whom a keeper takes for gone: who was heard when, who is doubted by its neighbours, and whose
// answers may still keep an account unfenced.
#include <algorithm>

#include "consensus/voting/register_voter.hpp"

namespace laird::consensus {
namespace {

constexpr auto kTimedBefore = [](const auto& t, const Account& a) { return t.account < a; };
constexpr auto kFromBefore = [](const auto& p, const Account& a) { return p.from < a; };

}  // namespace

void Keeper::doubt(const Account& account, const Account& by, TimeNs now) {
  if (account == self_ || !decided_.alive(account)) return;
  for (Doubt& d : doubts_) {
    if (d.account != account) continue;
    d.at = now;
    d.shared |= d.by != by;
    return;
  }
  doubts_.push_back({account, now, now, by, false, false});
  // Whether it has been heard of late is a new question now.
  std::erase_if(contacts_, [&](const Timed& c) { return c.account == account; });
  fresh_ = true;
}

// Whoever speaks under a later incarnation has ended the earlier ones: none of them has answered
// anybody since.
void Keeper::note_successor(const Account& from, TimeNs now) {
  for (const Entry& e : decided_.entries) {
    if (e.account.node != from.node || e.account >= from) continue;
    const bool known = std::any_of(certain_.begin(), certain_.end(),
                                   [&](const Timed& t) { return t.account == e.account; });
    if (!known) certain_.push_back({e.account, now});
  }
}

bool Keeper::gone(const Account& account, TimeNs now) const {
  return std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& d) {
    return d.account == account && now - d.since >= kUnresponsiveTicks * timing_.tick;
  });
}

bool Keeper::never_answered(const Account& account, TimeNs now) const {
  return gone(account, now) && std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& d) {
           return d.account == account && !d.heard;
         });
}

bool Keeper::out_of_turn(const Account& account, TimeNs now) const {
  if (!decided_.alive(account)) return true;
  return std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& d) {
    const bool surely = d.shared || decided_.living_count() == 2 ||
                        now - d.since >= kLongUnresponsiveTicks * timing_.tick;
    return d.account == account && surely && now - d.since >= kUnresponsiveTicks * timing_.tick;
  });
}

bool Keeper::closed_upon(const Account& account) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& p) {
    return std::any_of(p.body.closings.begin(), p.body.closings.end(),
                       [&](const Closing& c) { return c.peer == account; });
  });
}

std::size_t Keeper::supporters(const Register& r, const Entry& e, TimeNs now) const {
  const DurationNs lapse = timing_.silence_limit + timing_.tick;
  return static_cast<std::size_t>(std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) {
    const Entry* peer = r.find(t.peer);
    if (peer == nullptr || !peer->confirmed_dead) return true;
    // What it answered before its process ended lasts no longer than the lease.
    return std::none_of(certain_.begin(), certain_.end(), [&](const Timed& c) {
      return c.account == t.peer && now - c.since > lapse;
    });
  }));
}

// Those it may have left once what the certainly dead answered has lapsed.
std::size_t Keeper::supporters_to_come(const Register& r, const Entry& e) const {
  return static_cast<std::size_t>(std::count_if(e.ties.begin(), e.ties.end(), [&](const Tie& t) {
    const Entry* peer = r.find(t.peer);
    return peer == nullptr || !peer->confirmed_dead;
  }));
}

// Worth waiting for, so that all closings and the death make one version: an account that has
// fallen silent and will be closed upon, one closed upon of which it is not clear yet whether it is
// gone, or one that is gone and has neighbours that will close.
bool Keeper::ripening(const Register& next, TimeNs now) const {
  return std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& d) {
    const Entry* e = next.find(d.account);
    // Silent for longer, and not closed upon: it is this keeper alone that does not hear it.
    const bool of_late = now - d.since < timing_.silence_limit + kUnresponsiveTicks * timing_.tick;
    const bool will_close =
        of_late && e != nullptr && std::any_of(e->ties.begin(), e->ties.end(), [&](const Tie& t) {
          return next.alive(t.peer) && !gone(t.peer, now);
        });
    if (!closed_upon(d.account)) return will_close && !d.heard && gone(d.account, now);
    if (!gone(d.account, now)) return !d.heard;
    return will_close;
  });
}

// An edge is opened only to one who was heard just now: to one who is silent it would have to be
// closed again, and would stand in the way of its settlement. The others are asked.
bool Keeper::may_open(const Account& account, TimeNs now) {
  const auto asked = std::lower_bound(pending_.begin(), pending_.end(), account, kFromBefore);
  if (asked != pending_.end() && asked->from == account && asked->body.leave) return false;
  if (account == self_) return true;
  if (gone(account, now)) return false;
  if (heard_lately(account, now)) return true;
  if (!account.valid() || courted_.size() >= kEdgesMax) return false;
  if (std::find(courted_.begin(), courted_.end(), account) == courted_.end()) {
    courted_.push_back(account);
  }
  return false;
}

Keeper::Timed* Keeper::find_contact(const Account& account) {
  const auto at = std::lower_bound(contacts_.begin(), contacts_.end(), account, kTimedBefore);
  return at != contacts_.end() && at->account == account ? &*at : nullptr;
}

bool Keeper::heard_lately(const Account& account, TimeNs now) {
  const Timed* contact = find_contact(account);
  return contact != nullptr && now - contact->since < kHeardLatelyTicks * timing_.tick;
}

std::uint32_t Keeper::question(TimeNs now) const {
  const auto tick = static_cast<std::uint64_t>(now / std::max<DurationNs>(timing_.tick, 1));
  return 1 + static_cast<std::uint32_t>(tick % kProbeNumbers);
}

bool Keeper::answers(const RequestBody& body, TimeNs now) const {
  if (body.echo == 0 || body.echo > kProbeNumbers) return false;
  return (question(now) + kProbeNumbers - body.echo) % kProbeNumbers <
         static_cast<std::uint32_t>(kAnswerTicks);
}

void Keeper::note_contact(const Account& from, bool answered, TimeNs now) {
  for (Doubt& d : doubts_) {
    if (d.account != from) continue;
    if (!answered) return;
    d.since = now;
    d.heard = true;
  }
  if (Timed* known = find_contact(from)) {
    known->since = now;
    return;
  }
  if (contacts_.size() >= kAccountsMax) return;
  contacts_.insert(std::lower_bound(contacts_.begin(), contacts_.end(), from, kTimedBefore),
                   {from, now});
  if (std::find(courted_.begin(), courted_.end(), from) != courted_.end()) fresh_ = true;
}

void Keeper::note_alive(const Account& account, TimeNs at) {
  for (Doubt& d : doubts_) {
    if (d.account != account || at <= d.since) continue;
    d.since = at;
    d.heard = true;
  }
  if (Timed* known = find_contact(account)) known->since = std::max(known->since, at);
}

// In doubt is already who will have too few: whether it is there is asked while that lapses.
void Keeper::review_doubts(const Register& candidate, TimeNs now) {
  for (const Entry& e : candidate.entries) {
    if (!e.dead && supporters_to_come(candidate, e) < e.quorum) doubt(e.account, self_, now);
  }
  std::erase_if(doubts_, [&](const Doubt& d) {
    const Entry* e = candidate.find(d.account);
    if (e == nullptr || e->dead) return true;
    // One who stays silent stays in doubt: there may be neighbours yet that will close.
    if (!d.heard || now - d.at <= kRequestTicks * timing_.tick) return false;
    return !closed_upon(d.account) && supporters_to_come(candidate, *e) >= e->quorum;
  });
}

}  // namespace laird::consensus
