// What a keeper puts into the next version of the register: the pending requests, the deaths that
// the rule allows, the settlements of the dead, and the seats of the keepers. The rules of the
// entries themselves are in consensus/register.cpp.
#include <algorithm>

#include "consensus/voting/register_voter.hpp"

namespace laird::consensus {

// Whoever votes for a renewed edge has to have heard both of its ends. A death must not wait for
// that, so edges are renewed in versions of their own.
Register RegisterVoter::compose(TimeNs now) {
  Register next = composed(false, now);
  return next.version == value().version ? composed(true, now) : next;
}

Register RegisterVoter::composed(bool with_renewals, TimeNs now) {
  RegisterEdit edit(value(), faults_.untagged_closings);
  if (value().version >= kVersionMax) return edit.finish(self_);
  if (with_renewals) renew(edit);
  for (const Pending& p : pending_) {
    if (p.believed()) enter(edit, p, now);
  }
  if (suspicions_.review(edit.state(), value(), closed_upon(), now)) news_ = true;
  const int silence = ballots_.has_waited_long(now) ? kSurelyUnresponsiveTicks : kUnresponsiveTicks;
  for (const Account& a : suspicions_.unresponsive(silence, now)) {
    const Entry* e = edit.state().find(a);
    if (a == self_ || e == nullptr || e->dead) continue;
    if (suspicions_.supporters(edit.state(), *e, now) < support_needed(e->quorum)) {
      edit.declare_dead(a, false);
    }
  }
  for (const Pending& p : pending_) {
    if (p.believed()) release(edit, p);
  }
  edit.settle(self_);
  std::vector<Account> heard = suspicions_.contacts(now);
  heard.push_back(self_);
  edit.seat_keepers(heard);
  return edit.finish(self_);
}

// Renews the edges of which both ends tell the same numbers.
void RegisterVoter::renew(RegisterEdit& edit) const {
  for (const Pending& p : pending_) {
    for (const Closing& mine : p.body.renewals) {
      const Pending* other = pending_of(mine.peer);
      if (!p.believed() || mine.peer < p.from || other == nullptr || !other->believed()) continue;
      for (const Closing& theirs : other->body.renewals) {
        if (theirs.peer == p.from) edit.renew(p.from, mine, theirs);
      }
    }
  }
}

std::vector<Account> RegisterVoter::closed_upon() const {
  std::vector<Account> out;
  for (const Pending& p : pending_) {
    if (!p.believed()) continue;
    for (const Closing& c : p.body.closings) out.push_back(c.peer);
  }
  return out;
}

// An edge that this version closes is opened again in the next version at the earliest: by then it
// is known whether the other end lives. So the edges of the present version count, not the edit's.
bool RegisterVoter::tied(const Account& a, const Account& b) const {
  const Entry* e = value().find(a);
  return e != nullptr && e->tie_to(b) != nullptr;
}

// An edge is opened only to an account that stays and was heard just now.
bool RegisterVoter::may_open(const Account& account, TimeNs now) {
  const auto at = std::lower_bound(pending_.begin(), pending_.end(), account,
                                   [](const Pending& p, const Account& a) { return p.from < a; });
  if (at != pending_.end() && at->from == account && at->body.leave) return false;
  return account == self_ || suspicions_.heard_or_probe(account, now);
}

void RegisterVoter::enter(RegisterEdit& edit, const Pending& p, TimeNs now) {
  if (edit.state().past(p.from)) return;
  const bool newcomer = edit.state().find(p.from) == nullptr;
  const bool author_lives = newcomer || p.body.wanted.empty() || may_open(p.from, now);
  std::vector<NodeId> wanted;
  for (const NodeId node : p.body.wanted) {
    if (author_lives && may_open(edit.state().living(node), now)) wanted.push_back(node);
  }
  // Who leaves is not entered for that, unless it ends an earlier account of its board: nobody else
  // can say that this one has ended.
  if (newcomer) {
    if (!p.body.leave || edit.state().succeeds(p.from)) enroll(edit, p, std::move(wanted), now);
    return;
  }
  for (const Closing& c : p.body.closings) edit.close(p.from, c);
  if (p.body.quorum_revision != 0) {
    edit.set_quorum(p.from, p.body.quorum_revision, p.body.quorum);
  }
  if (p.body.leave) {
    const Entry* e = edit.state().find(p.from);
    // An account that was declared dead on its way out resigns: it has read this very entry, and
    // whoever has read it acknowledges nothing any more.
    if (e->dead && p.body.version >= e->changed) edit.declare_dead(p.from, true);
    return;
  }
  for (const NodeId node : wanted) {
    const Account peer = edit.state().living(node);
    if (!tied(p.from, peer)) edit.open(p.from, peer);
  }
  if (author_lives && !p.body.wanted.empty()) find_neighbours(edit, p.from, now);
}

void RegisterVoter::enroll(RegisterEdit& edit, const Pending& p, std::vector<NodeId> wanted,
                           TimeNs now) {
  if (wanted.empty()) {
    // None of the neighbours it asked for was heard. Any other account will do, or the newcomer
    // would stay outside.
    for (const Entry& e : edit.state().entries) {
      if (e.dead || e.account.node == p.from.node || !may_open(e.account, now)) continue;
      wanted.push_back(e.account.node);
      break;
    }
  }
  // The last resort is this keeper itself, even if it is about to leave: it can leave once somebody
  // else has entered.
  if (wanted.empty() && edit.state().alive(self_)) wanted.push_back(self_.node);
  edit.enroll(p.from, wanted);
}

// Gives an account that has lost neighbours others in their place, the next in the register's
// order, until it has kNeighboursMin.
void RegisterVoter::find_neighbours(RegisterEdit& edit, const Account& account, TimeNs now) {
  const auto lacking = [&] {
    const Entry* e = edit.state().find(account);
    const auto living = std::count_if(e->ties.begin(), e->ties.end(),
                                      [&](const Tie& t) { return edit.state().alive(t.peer); });
    return static_cast<std::size_t>(living) < kNeighboursMin;
  };
  const std::size_t n = edit.state().entries.size();
  std::size_t at = 0;
  while (at < n && edit.state().entries[at].account < account) ++at;
  for (std::size_t k = 1; k < n && lacking(); ++k) {
    const Account other = edit.state().entries[(at + k) % n].account;
    if (edit.state().alive(other) && !tied(account, other) && may_open(other, now)) {
      edit.open(account, other);
    }
  }
}

// Enters that an account has left, once it has no edge any more. The last living account cannot
// leave: it keeps the register until somebody else has entered. So this comes after the deaths.
void RegisterVoter::release(RegisterEdit& edit, const Pending& p) {
  const Entry* e = edit.state().find(p.from);
  if (!p.body.leave || e == nullptr || e->dead || !e->ties.empty()) return;
  if (edit.state().living_count() > 1) edit.declare_dead(p.from, true);
}

}  // namespace laird::consensus
