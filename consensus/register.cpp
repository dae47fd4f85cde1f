#include "consensus/register.hpp"

#include <algorithm>

#include "consensus/credit.hpp"

namespace laird::consensus {
namespace {

bool entry_before(const Entry& e, const Account& a) { return e.account < a; }
bool tie_before(const Tie& t, const Account& a) { return t.peer < a; }
bool grave_before(const Grave& g, NodeId node) { return g.account.node < node; }

void add(Shares& to, const Shares& what, Parts sign = 1) {
  for (std::size_t r = 0; r < kResources; ++r) {
    to[r] = bounded(static_cast<Wide>(to[r]) + static_cast<Wide>(sign) * what[r]);
  }
}

}  // namespace

const Tie* Entry::tie_to(const Account& peer) const {
  const auto at = std::lower_bound(ties.begin(), ties.end(), peer, tie_before);
  return at != ties.end() && at->peer == peer ? &*at : nullptr;
}

void Entry::archive(Archive& ar) {
  ar(account);
  ar(base, quorum, quorum_revision, dead, confirmed_dead, changed);
  ar.sequence(ties, kEdgesMax);
}

void Closing::archive(Archive& ar) {
  ar(peer);
  ar(edge_number);
  archive_shares(ar, sent);
  archive_shares(ar, heard);
}

void Register::archive(Archive& ar) {
  ar(version);
  ar(owner);
  ar(edges_opened);
  ar.sequence(keepers, kKeepersMax);
  ar.sequence(entries, kAccountsMax);
  ar.sequence(buried, kAccountsMax);
  if (ar.since(5)) ar.sequence(closed, kAccountsMax);
}

std::uint64_t digest_of(const Register& value) {
  Archive ar = Archive::hasher();
  // An archive takes what it may also fill in. A hasher fills in nothing, and a copy of a large
  // register costs more than its digest.
  const_cast<Register&>(value).archive(ar);
  return ar.digest();
}

bool well_formed(const Register& value) {
  const auto ascending = [](const auto& items, auto key) {
    return std::adjacent_find(items.begin(), items.end(), [&](const auto& a, const auto& b) {
             return !(key(a) < key(b));
           }) == items.end();
  };
  return (value.version == 0 || !value.keepers.empty()) &&
         ascending(value.entries, [](const Entry& e) { return e.account; }) &&
         ascending(value.buried, [](const Grave& g) { return g.account.node; }) &&
         std::all_of(value.entries.begin(), value.entries.end(), [&](const Entry& e) {
           return ascending(e.ties, [](const Tie& t) { return t.peer; });
         });
}

Entry* Register::find(const Account& account) {
  const auto at = std::lower_bound(entries.begin(), entries.end(), account, entry_before);
  return at != entries.end() && at->account == account ? &*at : nullptr;
}

const Entry* Register::find(const Account& account) const {
  const auto at = std::lower_bound(entries.begin(), entries.end(), account, entry_before);
  return at != entries.end() && at->account == account ? &*at : nullptr;
}

bool Register::alive(const Account& account) const {
  const Entry* e = find(account);
  return e != nullptr && !e->dead;
}

Account Register::living(NodeId node) const {
  auto at = std::lower_bound(entries.begin(), entries.end(), Account{node, 0}, entry_before);
  for (; at != entries.end() && at->account.node == node; ++at) {
    if (!at->dead) return at->account;
  }
  return {};
}

std::size_t Register::living_count() const {
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const Entry& e) { return !e.dead; }));
}

bool Register::past(const Account& account) const {
  const auto at = std::lower_bound(buried.begin(), buried.end(), account.node, grave_before);
  if (at != buried.end() && at->account.node == account.node && at->account >= account) return true;
  auto entry = std::upper_bound(entries.begin(), entries.end(), account,
                                [](const Account& a, const Entry& e) { return a < e.account; });
  return entry != entries.end() && entry->account.node == account.node;
}

bool Register::succeeds(const Account& account) const {
  return std::any_of(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.account.node == account.node && e.account < account && !e.confirmed_dead;
  });
}

Parts Register::debt_of(NodeId node) const {
  const auto at = std::lower_bound(buried.begin(), buried.end(), node, grave_before);
  return at != buried.end() && at->account.node == node ? at->debt : 0;
}

bool Register::is_keeper(const Account& account) const {
  return std::find(keepers.begin(), keepers.end(), account) != keepers.end();
}

// Small fleets: one crash fences nobody who is tied to everybody. With four living accounts or more
// the quorum is at least two, so that one of the answers may be a liar's.
std::uint8_t quorum_for(std::size_t living, std::size_t degree) {
  if (living < 4) return 1;
  const std::size_t wanted = living >= 7 ? 4 : living >= 5 ? 3 : 2;
  return static_cast<std::uint8_t>(std::min(wanted, std::max<std::size_t>(degree, 3) - 1));
}

std::size_t support_needed(std::uint8_t quorum) {
  return quorum > kLiarsMax ? quorum - kLiarsMax : quorum;
}

std::size_t keepers_for(std::size_t living) {
  if (living <= 3) return living == 2 ? 1 : living;
  return std::min(living, kKeepersMax) / 2 * 2;
}

std::size_t votes_needed(std::size_t keepers) {
  if (keepers <= 3) return keepers / 2 + 1;
  return (keepers + kLiarsMax) / 2 + 1;
}

Register founding_register(const NeighbourGraph& graph, const std::vector<Account>& accounts) {
  Register r;
  r.version = 1;
  const auto account_of = [&](NodeId node) {
    const auto at = std::lower_bound(accounts.begin(), accounts.end(), Account{node, 0});
    return at != accounts.end() && at->node == node ? *at : Account{};
  };
  for (const Account& a : accounts) {
    Entry e;
    e.account = a;
    e.base.fill(graph.genesis(a.node));
    e.changed = 1;
    const std::vector<NodeId> peers = graph.neighbours(a.node);
    const Parts limit =
        even_limit(accounts.size(), e.base[0] + allowance(accounts.size()), peers.size());
    for (const NodeId peer : peers) e.ties.push_back({account_of(peer), 0, limit});
    e.quorum = accounts.size() == 1 ? 0 : quorum_for(accounts.size(), e.ties.size());
    r.entries.push_back(std::move(e));
  }
  const std::size_t seats = keepers_for(accounts.size());
  r.keepers.assign(accounts.begin(), accounts.begin() + static_cast<std::ptrdiff_t>(seats));
  if (!r.keepers.empty()) r.owner = r.keepers.front();
  return r;
}

RegisterEdit::RegisterEdit(const Register& from, bool untagged)
    : next_(from), version_(from.version + 1), untagged_(untagged) {
  next_.closed.clear();
}

void RegisterEdit::touch(Entry& entry) {
  entry.changed = version_;
  changed_ = true;
}

void RegisterEdit::untie(Entry& a, Entry& b) {
  std::erase_if(a.ties, [&](const Tie& t) { return t.peer == b.account; });
  std::erase_if(b.ties, [&](const Tie& t) { return t.peer == a.account; });
  touch(a);
  touch(b);
}

bool RegisterEdit::close(const Account& by, const Closing& closing) {
  const Account author = untagged_ ? next_.living(by.node) : by;
  const Account peer = untagged_ ? next_.living(closing.peer.node) : closing.peer;
  Entry* mine = next_.find(author);
  Entry* theirs = next_.find(peer);
  if (mine == nullptr || theirs == nullptr || mine == theirs || mine->dead) return false;
  const Tie* tie = mine->tie_to(peer);
  if (tie == nullptr || (tie->edge_number != closing.edge_number && !untagged_)) return false;
  const Parts granted_most = tie->limit;
  const Tie* back = theirs->tie_to(author);
  const Parts received_most = back == nullptr ? 0 : back->limit;
  // The author keeps what it received, the peer keeps what the author sent.
  Shares net{};
  for (std::size_t r = 0; r < kResources; ++r) {
    net[r] = bounded(static_cast<Wide>(closing.heard[r]) - closing.sent[r]);
    if ((net[r] > received_most || -net[r] > granted_most) && !untagged_) return false;
  }
  add(mine->base, net);
  add(theirs->base, net, -1);
  next_.closed.push_back({author, peer, tie->edge_number, false});
  untie(*mine, *theirs);
  return true;
}

bool RegisterEdit::renew(const Account& by, const Closing& mine, const Closing& theirs) {
  const Account peer = mine.peer;
  if (theirs.peer != by || mine.edge_number != theirs.edge_number || mine.sent != theirs.heard ||
      mine.heard != theirs.sent || !next_.alive(by) || !next_.alive(peer) ||
      next_.edges_opened >= kEdgeNumberMax || !close(by, mine)) {
    return false;
  }
  next_.closed.back().renewed = true;
  return open(by, peer);
}

bool RegisterEdit::open(const Account& a, const Account& b) {
  Entry* one = next_.find(a);
  Entry* two = next_.find(b);
  if (one == nullptr || two == nullptr || one == two || one->dead || two->dead) return false;
  if (one->tie_to(b) != nullptr) return false;
  if (one->ties.size() >= kTiesMax || two->ties.size() >= kTiesMax) return false;
  if (next_.edges_opened >= kEdgeNumberMax) return false;
  const std::uint32_t edge_number = ++next_.edges_opened;
  const auto insert = [&](Entry& e, const Account& peer) {
    e.ties.insert(std::lower_bound(e.ties.begin(), e.ties.end(), peer, tie_before),
                  {peer, edge_number, 0});
    touch(e);
  };
  insert(*one, b);
  insert(*two, a);
  return true;
}

void RegisterEdit::enroll(const Account& newcomer, const std::vector<NodeId>& wanted) {
  if (next_.find(newcomer) != nullptr || next_.past(newcomer)) return;
  if (next_.entries.size() >= kAccountsMax) return;
  const bool somebody = std::any_of(wanted.begin(), wanted.end(), [&](NodeId node) {
    return node != newcomer.node && next_.living(node).valid();
  });
  const bool others = std::any_of(next_.entries.begin(), next_.entries.end(), [&](const Entry& e) {
    return !e.dead && e.account.node != newcomer.node;
  });
  if (!somebody && others) return;
  enter(newcomer);
  for (const NodeId node : wanted) open(newcomer, next_.living(node));
}

void RegisterEdit::enter(const Account& newcomer) {
  if (next_.find(newcomer) != nullptr || next_.past(newcomer)) return;
  if (next_.entries.size() >= kAccountsMax) return;
  Entry entry;
  entry.account = newcomer;
  entered_.push_back(newcomer);
  const auto at =
      std::lower_bound(next_.entries.begin(), next_.entries.end(), newcomer, entry_before);
  touch(*next_.entries.insert(at, entry));
  for (const Entry& e : next_.entries) {
    if (e.account.node == newcomer.node && e.account != newcomer) declare_dead(e.account, true);
  }
}

void RegisterEdit::set_quorum(const Account& account, std::uint32_t quorum_revision,
                              std::uint8_t quorum) {
  Entry* e = next_.find(account);
  if (e == nullptr || e->dead || quorum_revision <= e->quorum_revision) return;
  if (quorum_revision > kQuorumRevisionMax) return;
  if (quorum == 0 && next_.living_count() > 1) return;
  e->quorum_revision = quorum_revision;
  e->quorum = quorum;
  touch(*e);
}

void RegisterEdit::declare_dead(const Account& account, bool confirmed_dead) {
  Entry* e = next_.find(account);
  if (e == nullptr || (e->dead && (e->confirmed_dead || !confirmed_dead))) return;
  e->dead = true;
  e->confirmed_dead |= confirmed_dead;
  touch(*e);
  // The neighbours have to hear of the death, because they close their edges then.
  for (const Tie& t : e->ties) {
    if (Entry* peer = next_.find(t.peer)) touch(*peer);
  }
}

void RegisterEdit::bury(const Account& account, Parts debt) {
  auto& buried = next_.buried;
  const auto at = std::lower_bound(buried.begin(), buried.end(), account.node, grave_before);
  if (at != buried.end() && at->account.node == account.node) {
    at->account = std::max(at->account, account);
    at->debt = bounded(static_cast<Wide>(at->debt) + debt);
  } else {
    buried.insert(at, {account, debt});
  }
}

bool RegisterEdit::settle_group(const Account& member, const Account& heir) {
  std::vector<Account> group{member};
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Entry* e = next_.find(group[i]);
    for (const Tie& t : e->ties) {
      const Entry* peer = next_.find(t.peer);
      if (peer == nullptr || !peer->dead) return false;
      if (std::find(group.begin(), group.end(), t.peer) == group.end()) group.push_back(t.peer);
    }
  }
  Shares estate{};
  for (const Account& a : group) add(estate, next_.find(a)->base);
  Entry* to = next_.find(heir);
  add(to->base, estate);
  touch(*to);
  for (const Account& a : group) {
    settled_.push_back(a.node);
    // Honest accounts leave at least nothing. If the group leaves less, whoever of it is in debt
    // has granted what it did not have.
    Parts debt = 0;
    for (std::size_t r = 0; r < kResources; ++r) {
      debt = std::max(debt, std::min(-next_.find(a)->base[r], -estate[r]));
    }
    bury(a, debt);
  }
  std::erase_if(next_.entries, [&](const Entry& e) {
    return std::find(group.begin(), group.end(), e.account) != group.end();
  });
  return true;
}

void RegisterEdit::settle(const Account& heir) {
  Account to = heir;
  if (!next_.alive(to)) {
    const auto any = std::find_if(next_.entries.begin(), next_.entries.end(),
                                  [](const Entry& e) { return !e.dead; });
    if (any == next_.entries.end()) return;
    to = any->account;
  }
  for (bool again = true; again;) {
    again = false;
    for (const Entry& e : next_.entries) {
      if (!e.dead) continue;
      again = settle_group(e.account, to);
      if (again) break;
    }
  }
}

void RegisterEdit::seat_keepers(const std::vector<Account>& heard) {
  const auto is_heard = [&](const Account& a) {
    return std::find(heard.begin(), heard.end(), a) != heard.end();
  };
  std::vector<Account> seats;
  for (const Account& k : next_.keepers) {
    if (next_.alive(k)) seats.push_back(k);
  }
  const std::size_t wanted = keepers_for(next_.living_count());
  if (seats.size() > wanted) {
    std::stable_partition(seats.begin(), seats.end(), is_heard);
    seats.resize(wanted);
  }
  for (const bool unheard : {false, true}) {
    for (const Entry& e : next_.entries) {
      if (seats.size() >= wanted) break;
      if (e.dead || is_heard(e.account) == unheard) continue;
      if (std::find(seats.begin(), seats.end(), e.account) == seats.end()) {
        seats.push_back(e.account);
      }
    }
  }
  if (seats.empty() || seats == next_.keepers) return;
  next_.keepers = std::move(seats);
  changed_ = true;
}

void RegisterEdit::set_keepers(std::vector<Account> keepers) {
  changed_ |= keepers != next_.keepers;
  next_.keepers = std::move(keepers);
}

void RegisterEdit::set_first_quorums() {
  for (const Account& a : entered_) {
    Entry* e = next_.find(a);
    if (e != nullptr) e->quorum = quorum_for(next_.living_count(), e->ties.size());
  }
}

// Raises the limits of every node of which this version changes an account, as far as its credit
// goes, evenly. A limit is never lowered while the edge is open: the neighbour may have counted up
// to it already.
void RegisterEdit::extend_credit() {
  std::vector<Account> changed;
  for (const Entry& e : next_.entries) {
    const bool settled =
        std::find(settled_.begin(), settled_.end(), e.account.node) != settled_.end();
    if (e.changed != version_ && !settled) continue;
    const Account living = next_.living(e.account.node);
    if (living.valid() && (changed.empty() || changed.back() != living)) changed.push_back(living);
  }
  const std::size_t living = next_.living_count();
  const Parts most = tie_limit(living);
  for (const Account& a : changed) {
    Entry& entry = *next_.find(a);
    std::vector<Tie*> low;
    for (Tie& t : entry.ties) {
      if (t.limit < most && next_.alive(t.peer)) low.push_back(&t);
    }
    // The highest first: what it has beyond an even part, the others cannot have.
    std::stable_sort(low.begin(), low.end(),
                     [](const Tie* x, const Tie* y) { return x->limit > y->limit; });
    Parts left = allowance(living) - credit_used(next_, a.node);
    for (const Tie* t : low) left += t->limit;
    for (std::size_t k = 0; k < low.size(); ++k) {
      Tie& t = *low[k];
      const Parts even = even_limit(living, left, low.size() - k);
      left -= std::max(t.limit, even);
      if (even <= t.limit) continue;
      t.limit = even;
      touch(entry);
      touch(*next_.find(t.peer));  // which counts up to the limit
    }
  }
}

Register RegisterEdit::finish(const Account& owner) {
  if (changed_) {
    set_first_quorums();
    extend_credit();
    next_.version = version_;
    next_.owner = owner;
  }
  return std::move(next_);
}

}  // namespace laird::consensus
