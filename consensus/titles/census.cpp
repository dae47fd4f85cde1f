#include "consensus/titles/census.hpp"

#include <algorithm>

namespace laird::consensus {

NodeWord word_of(const Register& value, NodeId node) {
  NodeWord out{node, 0, value.living(node).incarnation};
  // An account is entered only once every earlier one of its node is dead for certain.
  if (out.living != 0) {
    out.dead_up_to = out.living - 1;
    return out;
  }
  for (const Entry& entry : value.entries) {
    if (entry.account.node == node)
      out.dead_up_to = std::max(out.dead_up_to, entry.account.incarnation);
  }
  for (const Grave& grave : value.buried) {
    if (grave.account.node == node)
      out.dead_up_to = std::max(out.dead_up_to, grave.account.incarnation);
  }
  return out;
}

void Census::look_at(const Register& value) {
  for (const Entry& entry : value.entries) learn(word_of(value, entry.account.node));
  for (const Grave& grave : value.buried) learn(word_of(value, grave.account.node));
}

void Census::see(const Account& peer, bool dead) {
  if (!peer.valid()) return;
  const std::uint32_t before = peer.incarnation - 1;
  learn(dead ? NodeWord{peer.node, peer.incarnation, 0}
             : NodeWord{peer.node, before, peer.incarnation});
}

void Census::hear(NodeId keeper, const NodeWord& word, std::size_t words) {
  std::erase_if(said_,
                [&](const Said& s) { return s.keeper == keeper && s.word.node == word.node; });
  if (said_.size() >= kCensusWordsMax) said_.erase(said_.begin());
  said_.push_back({keeper, word});
  std::vector<std::uint32_t> dead;
  std::vector<std::uint32_t> living;
  for (const Said& s : said_) {
    if (s.word.node != word.node) continue;
    dead.push_back(s.word.dead_up_to);
    living.push_back(s.word.living);
  }
  if (words == 0 || dead.size() < words) return;
  // What the words-th of them says at least, that many say.
  std::sort(dead.rbegin(), dead.rend());
  NodeWord sure{word.node, dead[words - 1], 0};
  for (const std::uint32_t one : living) {
    const auto alike = std::count(living.begin(), living.end(), one);
    if (alike >= static_cast<std::ptrdiff_t>(words)) sure.living = std::max(sure.living, one);
  }
  learn(sure);
}

const NodeWord* Census::find(NodeId node) const {
  const auto at =
      std::lower_bound(known_.begin(), known_.end(), node,
                       [](const NodeWord& word, NodeId wanted) { return word.node < wanted; });
  return at != known_.end() && at->node == node ? &*at : nullptr;
}

void Census::learn(const NodeWord& word) {
  const auto at =
      std::lower_bound(known_.begin(), known_.end(), word.node,
                       [](const NodeWord& k, NodeId wanted) { return k.node < wanted; });
  if (at == known_.end() || at->node != word.node) {
    if (known_.size() < kCensusNodesMax) known_.insert(at, word);
    return;
  }
  at->dead_up_to = std::max(at->dead_up_to, word.dead_up_to);
  at->living = std::max(at->living, word.living);
  if (at->living <= at->dead_up_to) at->living = 0;
}

bool Census::is_dead(const Account& account) const {
  const NodeWord* known = find(account.node);
  return known != nullptr && account.incarnation <= known->dead_up_to;
}

Account Census::living(NodeId node) const {
  const NodeWord* known = find(node);
  return known == nullptr || known->living == 0 ? Account{} : Account{node, known->living};
}

std::vector<Account> Census::all_living() const {
  std::vector<Account> out;
  for (const NodeWord& word : known_) {
    if (word.living != 0) out.push_back({word.node, word.living});
  }
  return out;
}

void Census::archive(Archive& ar) {
  ar.sequence(known_, kCensusNodesMax);
  ar.sequence(said_, kCensusWordsMax);
}

}  // namespace laird::consensus
