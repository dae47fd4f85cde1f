// The register: which accounts live, what base each has, and which edges tie them. Births, deaths
// and the closing of edges are entered here and nowhere else; grants never pass through the
// register. It is one value that the keepers replace version by version
// (voting/register_voter.hpp), so the versions put everything that is entered in one order.
// docs/ledger.md, "The register".
//
// Symbols: base, what an account holds apart from its edges; tie, an edge between two accounts,
// with a number that no other edge of the founding ever had; quorum, how many edges of an account
// must be fresh so that the account is not fenced. Invariant by construction (I4): every rule below
// only moves shares from one base to another, so the bases of all entries sum to the whole in every
// version. Limit, how much more one end of a tie may have granted over it than it has received
// (credit.hpp).
#pragma once

#include <vector>

#include "consensus/account.hpp"
#include "consensus/neighbour_graph.hpp"

namespace laird::consensus {

struct Tie {
  Account peer;
  std::uint32_t edge_number = 0;  // 0: the edge exists since the founding
  Parts limit = 0;                // of the account that has this tie; the peer has its own

  bool operator==(const Tie&) const = default;
  void archive(Archive& ar) {
    ar(peer);
    ar(edge_number);
    if (ar.since(5)) ar(limit);
  }
};

struct Entry {
  Account account;
  Shares base{};
  std::uint8_t quorum = 0;
  std::uint32_t quorum_revision = 0;  // how often the account has changed its quorum
  bool dead = false;
  bool confirmed_dead = false;  // its process has ended or resigned; it is not merely silent
  std::uint32_t changed = 0;    // the version that last changed this entry
  std::vector<Tie> ties;        // sorted by peer

  bool operator==(const Entry&) const = default;
  [[nodiscard]] const Tie* tie_to(const Account& peer) const;
  void archive(Archive& ar);
};

// An account's report of an edge that it has closed for good, with its last numbers.
struct Closing {
  Account peer;
  std::uint32_t edge_number = 0;
  Shares sent{};
  Shares heard{};

  bool operator==(const Closing&) const = default;
  void archive(Archive& ar);
};

// Which end's numbers have ended an edge, or that both ends' have. A version names those that it
// has ended, so that a voter can check them against what the ends have told it.
struct ClosedTie {
  Account by;
  Account peer;
  std::uint32_t edge_number = 0;
  bool renewed = false;  // both ends told the same numbers, and the edge goes on under a new one

  bool operator==(const ClosedTie&) const = default;
  void archive(Archive& ar) {
    ar(by);
    ar(peer);
    ar(edge_number);
    ar(renewed);
  }
};

// The last account of a node that was settled, and how far below nothing all settled accounts of
// the node were in sum. Others have inherited that.
struct Grave {
  Account account;
  Parts debt = 0;

  bool operator==(const Grave&) const = default;
  void archive(Archive& ar) {
    ar(account);
    if (ar.since(5)) ar(debt);
  }
};

struct Register {
  std::uint32_t version = 0;       // 0: no register is known
  Account owner;                   // proposed this version; may propose the next in round 0
  std::uint32_t edges_opened = 0;  // since the founding; the newest edge number
  std::vector<Account> keepers;
  std::vector<Entry> entries;     // sorted by account
  std::vector<Grave> buried;      // one for each node that has one; sorted
  std::vector<ClosedTie> closed;  // the edges that this version has ended, in that order

  bool operator==(const Register&) const = default;
  [[nodiscard]] const Entry* find(const Account& account) const;
  [[nodiscard]] Entry* find(const Account& account);
  [[nodiscard]] bool alive(const Account& account) const;
  // The node's living account, or an invalid one.
  [[nodiscard]] Account living(NodeId node) const;
  [[nodiscard]] std::size_t living_count() const;
  // Whether the account is settled or replaced by a later incarnation, so that it can never be
  // entered again.
  [[nodiscard]] bool past(const Account& account) const;
  // Whether an earlier account of the node is entered and not known to have ended.
  [[nodiscard]] bool succeeds(const Account& account) const;
  [[nodiscard]] bool is_keeper(const Account& account) const;
  [[nodiscard]] Parts debt_of(NodeId node) const;
  void archive(Archive& ar);
};

// Whether the lists are in the order that every search relies on, and whether there is a keeper
// (version 0 has none). A register from outside that is not well formed is refused.
[[nodiscard]] bool well_formed(const Register& value);

// The first version: all members, tied as in the neighbour graph, with equal bases. The lowest
// accounts are the keepers.
[[nodiscard]] Register founding_register(const NeighbourGraph& graph,
                                         const std::vector<Account>& accounts);

// How many fresh edges keep an account unfenced, in a fleet with so many living accounts.
[[nodiscard]] std::uint8_t quorum_for(std::size_t living, std::size_t degree);
// An account is declared dead by silence only if fewer neighbours than this may still answer it. It
// is one less than the account's own quorum: a neighbour that lies can report an edge closed and go
// on answering on it. A quorum of one leaves no room for that (docs/ledger.md, "Liars").
[[nodiscard]] std::size_t support_needed(std::uint8_t quorum);
// Seats for so many living accounts: 1, 3, 4, 6 or 8. Above three they are even, because with one
// more, odd seat a version needs one more vote and survives no more crashes.
[[nodiscard]] std::size_t keepers_for(std::size_t living);
// How many keepers decide. Any two such groups of four keepers or more have an honest one in common
// if one keeper lies; groups of three have one in common if nobody does.
[[nodiscard]] std::size_t votes_needed(std::size_t keepers);
// A register in one number, to compare votes. It is no seal: whoever adopts a register from outside
// compares the registers themselves.
[[nodiscard]] std::uint64_t digest_of(const Register& value);

// The next version in the making.
class RegisterEdit {
 public:
  // `untagged`: a fault for the checkers: closings count whichever edge number and incarnation they
  // name.
  explicit RegisterEdit(const Register& from, bool untagged = false);

  // Ends an edge with the numbers of the account that closed it: the balance of the edge moves into
  // both bases. Of two ends that have closed, the one that is entered first sets the numbers. False
  // if there is no such edge, or the balance is beyond the limits of its ends.
  bool close(const Account& by, const Closing& closing);
  // Ends an edge with numbers on which both ends agree, and opens it anew at once. What went over
  // the edge is then in the bases, and its limits hold for what comes. False if the numbers differ.
  bool renew(const Account& by, const Closing& mine, const Closing& theirs);
  // Opens an edge between two living accounts. False if there is one, or an account is not alive.
  bool open(const Account& a, const Account& b);
  // Enters a new account with base 0, tied to the living accounts of the wanted nodes, of which
  // there must be one if anybody else lives. Earlier accounts of its node are confirmed dead.
  void enroll(const Account& newcomer, const std::vector<NodeId>& wanted);
  // The first half of it: enters the account with base 0 and no edge. finish() gives it a quorum.
  void enter(const Account& newcomer);
  void set_quorum(const Account& account, std::uint32_t quorum_revision, std::uint8_t quorum);
  void declare_dead(const Account& account, bool confirmed_dead);
  // Removes every group of dead accounts that has no edge to a living account, and adds the bases
  // of the group to the heir's.
  void settle(const Account& heir);
  // Gives the seats of dead keepers to others, first to accounts that were heard of late.
  void seat_keepers(const std::vector<Account>& heard);
  void set_keepers(std::vector<Account> keepers);
  // The finished version. If nothing was changed it has the version number of the present one.
  [[nodiscard]] Register finish(const Account& owner);

  [[nodiscard]] const Register& state() const { return next_; }

 private:
  void touch(Entry& entry);
  void untie(Entry& a, Entry& b);
  bool settle_group(const Account& member, const Account& heir);
  void bury(const Account& account, Parts debt);
  void set_first_quorums();
  void extend_credit();

  Register next_;
  std::vector<Account> entered_;  // in this version
  std::vector<NodeId> settled_;   // whose accounts this version has removed
  std::uint32_t version_ = 0;
  bool untagged_ = false;
  bool changed_ = false;
};

}  // namespace laird::consensus
