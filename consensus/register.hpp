// The register: who is alive, with what base, tied to whom. Births, deaths and closings are entered
// here and nowhere else; grants never pass through it. It is one value, replaced version by version
// by agreement of its keepers (voting/register_voter.hpp), so every question of order is answered
// by it.
//
// Symbols: base, what an account holds apart from its edges; tie, an edge between two accounts with
// a life number that no other edge ever had; quorum, how many fresh edges keep the account
// unfenced.
// Invariant by construction: every rule below moves shares from one base to another, so the bases
// of all entries sum to the whole in every version.
#pragma once

#include <vector>

#include "consensus/account.hpp"
#include "consensus/neighbour_graph.hpp"

namespace laird::consensus {

struct Tie {
  Account peer;
  std::uint32_t edge_number = 0;  // 0: since the founding

  bool operator==(const Tie&) const = default;
  void archive(Archive& ar) {
    ar(peer);
    ar(edge_number);
  }
};

struct Entry {
  Account account;
  Shares base{};
  std::uint8_t quorum = 0;
  std::uint32_t quorum_revision = 0;  // counts the account's own changes of its quorum
  bool dead = false;
  bool confirmed_dead = false;  // its process is known to have ended: not merely silent
  std::uint32_t changed = 0;    // the version that last changed this entry
  std::vector<Tie> ties;        // sorted by peer

  bool operator==(const Entry&) const = default;
  [[nodiscard]] const Tie* tie_to(const Account& peer) const;
  void archive(Archive& ar);
};

// What an account reports of an edge it has closed for good: its own last numbers.
struct Closing {
  Account peer;
  std::uint32_t edge_number = 0;
  Shares sent{};
  Shares heard{};

  bool operator==(const Closing&) const = default;
  void archive(Archive& ar);
};

struct Register {
  std::uint32_t version = 0;       // 0: not known
  Account owner;                   // who proposed this version; may propose the next without asking
  std::uint32_t edges_opened = 0;  // edges opened since the founding
  std::vector<Account> keepers;
  std::vector<Entry> entries;   // sorted by account
  std::vector<Account> buried;  // the last settled account of a node; sorted

  bool operator==(const Register&) const = default;
  [[nodiscard]] const Entry* find(const Account& account) const;
  [[nodiscard]] Entry* find(const Account& account);
  [[nodiscard]] bool alive(const Account& account) const;
  // The node's living account, or an invalid one.
  [[nodiscard]] Account living(NodeId node) const;
  [[nodiscard]] std::size_t living_count() const;
  // Settled, or replaced by a later incarnation: it can never be entered again.
  [[nodiscard]] bool past(const Account& account) const;
  [[nodiscard]] bool is_keeper(const Account& account) const;
  void archive(Archive& ar);
};

// In the order that every search in it relies on, and with a keeper unless it is none (version 0).
// What comes from outside is refused when it is not.
[[nodiscard]] bool well_formed(const Register& value);

// All members tied as in the neighbour graph, an equal part each, the keepers the lowest of them.
[[nodiscard]] Register founding_register(const NeighbourGraph& graph,
                                         const std::vector<Account>& accounts);

// How many fresh edges keep an account unfenced. A silent group is settled only if none of its
// members has so many edges inside it: three dead neighbours can be told from three cut off.
[[nodiscard]] std::uint8_t quorum_for(std::size_t members, std::size_t degree);
[[nodiscard]] std::size_t keepers_for(std::size_t living);

// One version in the making.
class RegisterEdit {
 public:
  // `untagged`: a fault for the checkers; closings count whichever life and incarnation they name.
  explicit RegisterEdit(const Register& from, bool untagged = false);

  // The account's word on an edge it closed. The edge ends with the numbers of whoever is entered
  // first: its balance moves into both bases, exactly.
  void close(const Account& by, const Closing& closing);
  // An edge between two living accounts; nothing if there is one or either is not there.
  bool open(const Account& a, const Account& b);
  // A new account, tied to the living accounts of the wanted nodes, of which there must be one;
  // earlier accounts of its node are dead for certain.
  void enroll(const Account& newcomer, const std::vector<NodeId>& wanted, std::size_t members);
  void set_quorum(const Account& account, std::uint32_t quorum_revision, std::uint8_t quorum);
  void declare_dead(const Account& account, bool confirmed_dead);
  // Estates: a group of dead accounts with no edge to a living one leaves the sum of its bases to
  // the heir.
  void settle(const Account& heir);
  // Seats of the dead go to others; whoever was heard of late comes before whoever was not.
  void seat_keepers(const std::vector<Account>& heard);
  // The finished version; nothing changed: the same version as before.
  [[nodiscard]] Register finish(const Account& owner);

  [[nodiscard]] const Register& state() const { return next_; }

 private:
  void touch(Entry& entry);
  void untie(Entry& a, Entry& b);
  bool settle_group(const Account& member, const Account& heir);
  void bury(const Account& account);

  Register next_;
  std::uint32_t version_ = 0;
  bool untagged_ = false;
  bool changed_ = false;
};

}  // namespace laird::consensus
