// Which accounts are dead and which live, as the register says, for the boards that hold titles.
//
// A keeper of the register reads its own. Others ask the keepers about single nodes, and believe
// what enough of them say alike: one member may lie (docs/ledger.md, "Liars"). That an account is
// dead stays true for ever, so an old answer does no harm; who lives is a hint.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.hpp"
#include "consensus/account.hpp"
#include "consensus/register.hpp"

namespace laird::consensus {

inline constexpr std::size_t kCensusNodesMax = 1024;
inline constexpr std::size_t kCensusWordsMax = 1024;

// Of one node.
struct NodeWord {
  NodeId node = 0;
  std::uint32_t dead_up_to = 0;  // every account of it up to this incarnation is dead
  std::uint32_t living = 0;      // the incarnation that is entered and lives; 0: none
  bool operator==(const NodeWord&) const = default;
  void archive(Archive& ar) { ar(node, dead_up_to, living); }
};
[[nodiscard]] NodeWord word_of(const Register& value, NodeId node);

class Census {
 public:
  // This board is a keeper.
  void look_at(const Register& value);
  // A statement of the register on the board's own edges says so.
  void see(const Account& peer, bool dead);
  // A keeper says so; `words`: how many have to.
  void hear(NodeId keeper, const NodeWord& word, std::size_t words);

  [[nodiscard]] bool is_dead(const Account& account) const;
  [[nodiscard]] Account living(NodeId node) const;        // incarnation 0: none is known
  [[nodiscard]] std::vector<Account> all_living() const;  // sorted
  void archive(Archive& ar);

 private:
  struct Said {
    NodeId keeper = 0;
    NodeWord word;
    void archive(Archive& ar) {
      ar(keeper);
      ar(word);
    }
  };
  [[nodiscard]] const NodeWord* find(NodeId node) const;
  void learn(const NodeWord& word);

  std::vector<NodeWord> known_;  // sorted by node
  std::vector<Said> said_;       // the oldest first
};

}  // namespace laird::consensus
