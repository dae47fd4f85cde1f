#include "consensus/voting/justified.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// The edges of `to` with a later number: each once, from its lower end.
struct Opened {
  std::uint32_t edge_number = 0;
  Account a;
  Account b;
};

std::vector<Opened> opened(std::uint32_t after, const Register& to) {
  std::vector<Opened> out;
  for (const Entry& e : to.entries) {
    for (const Tie& t : e.ties) {
      if (t.edge_number > after && e.account < t.peer) {
        out.push_back({t.edge_number, e.account, t.peer});
      }
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Opened& a, const Opened& b) { return a.edge_number < b.edge_number; });
  return out;
}

class Replay {
 public:
  Replay(const Register& from, const Register& to, const Evidence& evidence)
      : from_(from), to_(to), evidence_(evidence), edit_(from) {}

  const char* run() {
    if (to_.version != from_.version + 1) return "versions grow by one";
    if (!from_.is_keeper(to_.owner)) return "only a keeper proposes";
    for (const auto rule :
         {&Replay::renewals, &Replay::closings, &Replay::quorums, &Replay::newcomers_and_edges,
          &Replay::resignations, &Replay::deaths, &Replay::departures}) {
      if (const char* broken = (this->*rule)()) return broken;
    }
    edit_.settle(to_.owner);
    if (const char* broken = seats()) return broken;
    edit_.set_keepers(to_.keepers);
    if (edit_.finish(to_.owner) != to_) return "nothing moves but by the rules";
    return nullptr;
  }

 private:
  // What an end says of an edge; nullptr: nothing.
  [[nodiscard]] const Closing* word(const Account& by, const Account& peer,
                                    std::uint32_t edge_number,
                                    std::vector<Closing> RequestBody::*list) const {
    const RequestBody* said = evidence_.request(by);
    if (said == nullptr) return nullptr;
    const auto& told = said->*list;
    const auto at = std::find_if(told.begin(), told.end(), [&](const Closing& c) {
      return c.peer == peer && c.edge_number == edge_number;
    });
    return at == told.end() ? nullptr : &*at;
  }

  // Edges are renewed before any is closed or opened.
  const char* renewals() {
    for (const ClosedTie& c : to_.closed) {
      if (!c.renewed) continue;
      const Closing* mine = word(c.by, c.peer, c.edge_number, &RequestBody::renewals);
      const Closing* theirs = word(c.peer, c.by, c.edge_number, &RequestBody::renewals);
      if (mine == nullptr || theirs == nullptr || !edit_.renew(c.by, *mine, *theirs)) {
        return "an edge is renewed by the same word of its ends";
      }
    }
    return nullptr;
  }

  const char* closings() {
    for (const ClosedTie& c : to_.closed) {
      if (c.renewed) continue;
      const Closing* told = word(c.by, c.peer, c.edge_number, &RequestBody::closings);
      if (told == nullptr) return "an edge is closed by the word of its end";
      if (!edit_.close(c.by, *told)) return "an edge is closed within its limits";
    }
    return nullptr;
  }

  const char* quorums() {
    for (const Entry& e : to_.entries) {
      const Entry* before = from_.find(e.account);
      if (before == nullptr || before->quorum_revision == e.quorum_revision) continue;
      const RequestBody* said = evidence_.request(e.account);
      if (said == nullptr || said->quorum_revision != e.quorum_revision ||
          said->quorum != e.quorum) {
        return "a quorum changes by the word of its account";
      }
      edit_.set_quorum(e.account, e.quorum_revision, e.quorum);
    }
    return nullptr;
  }

  // An account enters before its first edge. One without an edge is alone.
  const char* newcomers_and_edges() {
    std::uint32_t number = edit_.state().edges_opened;
    for (const Opened& o : opened(number, to_)) {
      if (o.edge_number != ++number) return "edge numbers grow by one";
      if (const char* broken = enter(o.a)) return broken;
      if (const char* broken = enter(o.b)) return broken;
      if (!edit_.open(o.a, o.b)) return "edges are opened between the living";
    }
    for (const Entry& e : to_.entries) {
      if (edit_.state().find(e.account) != nullptr) continue;
      const auto& present = edit_.state().entries;
      const bool others = std::any_of(present.begin(), present.end(), [&](const Entry& other) {
        return !other.dead && other.account.node != e.account.node;
      });
      if (others) return "a newcomer is tied to somebody";
      if (const char* broken = enter(e.account)) return broken;
    }
    return nullptr;
  }

  const char* enter(const Account& account) {
    if (edit_.state().find(account) != nullptr) return nullptr;
    const RequestBody* said = evidence_.request(account);
    if (said == nullptr || (said->leave && !edit_.state().succeeds(account))) {
      return "an account enters by its own word";
    }
    edit_.enter(account);
    return nullptr;
  }

  // Whoever was declared dead on its way out says that it has read that.
  const char* resignations() {
    for (const Entry& e : to_.entries) {
      const Entry* before = edit_.state().find(e.account);
      if (!e.confirmed_dead || before == nullptr || before->confirmed_dead || !before->dead)
        continue;
      const RequestBody* said = evidence_.request(e.account);
      const Entry* known = from_.find(e.account);
      if (said == nullptr || !said->leave || known == nullptr || said->version < known->changed) {
        return "an account resigns by its own word";
      }
      edit_.declare_dead(e.account, true);
    }
    return nullptr;
  }

  const char* deaths() {
    const Register candidate = edit_.state();
    for (const Entry& e : candidate.entries) {
      if (e.dead || leaves(e)) continue;
      const Entry* after = to_.find(e.account);
      if (after != nullptr && !after->dead) continue;
      if (!evidence_.may_be_dead(candidate, e)) return "a death by silence follows the rule";
      edit_.declare_dead(e.account, false);
    }
    return nullptr;
  }

  const char* departures() {
    const Register candidate = edit_.state();
    for (const Entry& e : candidate.entries) {
      if (e.dead || !leaves(e) || to_.alive(e.account)) continue;
      if (edit_.state().living_count() < 2) return "the last account stays";
      edit_.declare_dead(e.account, true);
    }
    return nullptr;
  }

  [[nodiscard]] bool leaves(const Entry& e) const {
    if (!e.ties.empty()) return false;
    const RequestBody* said = evidence_.request(e.account);
    return said != nullptr && said->leave;
  }

  [[nodiscard]] const char* seats() const {
    const Register& next = edit_.state();
    std::vector<Account> kept;
    for (const Account& k : from_.keepers) {
      if (next.alive(k)) kept.push_back(k);
    }
    const std::vector<Account>& seats = to_.keepers;
    const std::size_t wanted = keepers_for(next.living_count());
    const bool living =
        std::all_of(seats.begin(), seats.end(), [&](const Account& k) { return next.alive(k); });
    std::vector<Account> sorted = seats;
    std::sort(sorted.begin(), sorted.end());
    const bool once = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    if (seats.size() != wanted || !living || !once) return "the living have the seats, by number";
    const bool fewer = kept.size() >= wanted;
    const bool fits =
        fewer ? std::all_of(seats.begin(), seats.end(),
                            [&](const Account& k) {
                              return std::find(kept.begin(), kept.end(), k) != kept.end();
                            })
              : std::equal(kept.begin(), kept.end(), seats.begin());
    return fits ? nullptr : "living keepers stay";
  }

  const Register& from_;
  const Register& to_;
  const Evidence& evidence_;
  RegisterEdit edit_;
};

}  // namespace

bool makes_the_whole(const Register& value) {
  for (std::size_t r = 0; r < kResources; ++r) {
    Wide sum = 0;
    for (const Entry& e : value.entries) sum += e.base[r];
    if (sum != kWhole) return false;
  }
  return true;
}

bool sane(const Register& value) {
  return makes_the_whole(value) && value.keepers.size() == keepers_for(value.living_count()) &&
         std::all_of(value.keepers.begin(), value.keepers.end(),
                     [&](const Account& k) { return value.alive(k); });
}

const char* unjustified(const Register& from, const Register& to, const Evidence& evidence) {
  if (!well_formed(to) || !makes_the_whole(to)) return "the bases make the whole";
  return Replay(from, to, evidence).run();
}

}  // namespace laird::consensus
