#include "consensus/ledger/words.hpp"

#include <algorithm>

namespace laird::consensus {
namespace {

// Two keepers of different versions say the same of an account if the entry has not changed between
// the versions. Whether a peer answers is each keeper's own impression.
bool same_entry(const StatementBody& a, const StatementBody& b) {
  return a.incarnation == b.incarnation && a.dead == b.dead &&
         a.confirmed_dead == b.confirmed_dead && a.base == b.base && a.quorum == b.quorum &&
         a.quorum_revision == b.quorum_revision &&
         std::equal(a.ties.begin(), a.ties.end(), b.ties.begin(), b.ties.end(),
                    [](const StatedTie& x, const StatedTie& y) {
                      return x.peer == y.peer && x.edge_number == y.edge_number &&
                             x.peer_dead == y.peer_dead && x.limit == y.limit &&
                             x.peer_limit == y.peer_limit;
                    });
}

template <class List, class Item>
void keep(List& list, Item item) {
  if (list.size() >= kSpeakersMax) list.erase(list.begin());
  list.push_back(std::move(item));
}

}  // namespace

void Words::hear_guide(NodeId by, Epoch founding_epoch, std::uint32_t version,
                       const std::vector<Account>& keepers, TimeNs now) {
  std::erase_if(guides_, [&](const Guide& g) { return g.by == by; });
  keep(guides_, Guide{by, now, founding_epoch, version, keepers});
}

void Words::hear_statement(const Account& by, const StatementBody& body) {
  const auto at = std::find_if(statements_.begin(), statements_.end(),
                               [&](const Statement& s) { return s.by.node == by.node; });
  if (at != statements_.end()) {
    // A packet that was overtaken on the way does not take a later word back.
    if (at->by == by && at->body.incarnation == body.incarnation &&
        at->body.version > body.version) {
      return;
    }
    statements_.erase(at);
  }
  keep(statements_, Statement{by, body});
}

Epoch Words::agreed_epoch(std::size_t needed) const {
  Epoch best = 0;
  for (const Guide& g : guides_) {
    const auto words = std::count_if(guides_.begin(), guides_.end(), [&](const Guide& other) {
      return other.founding_epoch == g.founding_epoch;
    });
    if (static_cast<std::size_t>(words) >= needed) best = std::max(best, g.founding_epoch);
  }
  return best;
}

std::optional<Words::Guide> Words::agreed_keepers(Epoch founding_epoch, std::uint32_t after,
                                                  std::size_t needed, std::optional<NodeId> trusted,
                                                  TimeNs since) const {
  std::optional<Guide> best;
  for (const Guide& g : guides_) {
    if (g.founding_epoch != founding_epoch || g.version <= after || g.at < since) continue;
    std::size_t words = 0;
    std::uint32_t version = g.version;
    bool named = false;
    for (const Guide& other : guides_) {
      if (other.founding_epoch != founding_epoch || other.version <= after ||
          other.keepers != g.keepers || other.at < since)
        continue;
      ++words;
      named |= other.by == trusted;
      version = std::min(version, other.version);
    }
    if ((words < needed && !named) || (best && best->version >= version)) continue;
    best = g;
    best->version = version;
  }
  return best;
}

std::optional<StatementBody> Words::agreed_statement(const std::vector<Account>& keepers,
                                                     std::uint32_t incarnation, std::uint32_t after,
                                                     std::size_t needed) const {
  std::vector<const StatementBody*> said;
  for (const Statement& s : statements_) {
    if (s.body.incarnation != incarnation || s.body.version <= after) continue;
    if (std::find(keepers.begin(), keepers.end(), s.by) != keepers.end()) said.push_back(&s.body);
  }
  std::optional<StatementBody> best;
  for (const StatementBody* one : said) {
    std::vector<const StatementBody*> alike;
    std::copy_if(said.begin(), said.end(), std::back_inserter(alike),
                 [&](const StatementBody* s) { return same_entry(*s, *one); });
    if (alike.size() < needed) continue;
    StatementBody agreed = *one;
    for (const StatementBody* s : alike) agreed.version = std::min(agreed.version, s->version);
    if (best && best->version >= agreed.version) continue;
    for (std::size_t i = 0; i < agreed.ties.size(); ++i) {
      const auto silent = std::count_if(alike.begin(), alike.end(), [&](const StatementBody* s) {
        return s->ties[i].peer_silent;
      });
      agreed.ties[i].peer_silent = static_cast<std::size_t>(silent) >= std::min(needed, kWords);
    }
    best = std::move(agreed);
  }
  return best;
}

bool Words::unconfirmed(std::uint32_t incarnation, std::uint32_t after) const {
  return std::any_of(statements_.begin(), statements_.end(), [&](const Statement& s) {
    return s.body.incarnation == incarnation && s.body.version > after;
  });
}

std::size_t Words::speakers(TimeNs since) const {
  return static_cast<std::size_t>(
      std::count_if(guides_.begin(), guides_.end(), [&](const Guide& g) { return g.at >= since; }));
}

void Words::Guide::archive(Archive& ar) {
  ar(by);
  ar(at);
  ar(founding_epoch);
  ar(version);
  ar.sequence(keepers, kKeepersMax);
}

void Words::Statement::archive(Archive& ar) {
  ar(by);
  ar(body.version, body.incarnation, body.dead, body.confirmed_dead, body.living, body.base,
     body.quorum, body.quorum_revision);
  ar.sequence(body.ties, kEdgesMax);
  ar.sequence(body.keepers, kKeepersMax);
}

void Words::archive(Archive& ar) {
  ar.sequence(guides_, kSpeakersMax);
  ar.sequence(statements_, kSpeakersMax);
}

}  // namespace laird::consensus
