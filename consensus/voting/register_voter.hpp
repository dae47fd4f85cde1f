// A keeper of the register: one of up to seven accounts that agree on its next version.
//
// Source: single-decree Paxos (Lamport 1998), one instance per version, in the form that carries
// the whole value (Rystsov 2018): version v+1 is decided by a majority of the keepers version v
// names. Deviations:
// - Ballot round 0 belongs to the owner of the present version, who proposes without a first phase.
// - A keeper that starts without its journal is another account and has no seat, so no vote is ever
//   forgotten.
// - Voters pass a proposal on, and their votes, when it stays undecided: whoever sees a majority
//   for one ballot has decided. So a cut link or two between keepers stops nobody.
// - A promise is for every version to come as long as the keepers are the same, so whoever got a
//   version decided after a first phase needs none for the next (Lamport 1998, multi-decree).
// What a proposer puts into a version is at its discretion within one rule: an account is declared
// dead by silence only if fewer of its neighbours than its quorum may still answer it.
#pragma once

#include <optional>

#include "base/time.hpp"
#include "consensus/message.hpp"
#include "consensus/timing.hpp"

namespace laird::consensus {

struct KeeperTiming {
  DurationNs tick = kSecond;
  DurationNs silence_limit =
      60 * kSecond;  // an answer keeps its receiver unfenced no longer than this
};

class Keeper {
 public:
  Keeper() = default;

  // Forgets everything; `value` may have version 0.
  void begin(const Account& self, Register value, TimeNs now);
  // Holds a seat in the register it knows.
  [[nodiscard]] bool seated() const { return decided_.is_keeper(self_); }
  [[nodiscard]] const Register& value() const { return decided_; }
  // The next version it has voted for last; nullptr: none.
  [[nodiscard]] const Register* voted_for() const {
    return accepted_.empty() ? nullptr : &accepted_.front();
  }

  void on_request(const Account& from, const RequestBody& body, TimeNs now, Out& out);
  // The same, as another keeper heard it.
  void on_relay(const Account& by, const RelayBody& body, TimeNs now);
  void on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out);
  void on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out);
  void on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out);
  void on_accepted(const Account& from, const AcceptedBody& body, TimeNs now, Out& out);
  void on_refused(const Account& from, const RefusedBody& body, TimeNs now);
  void on_decided(const Register& value, TimeNs now);
  // It has acknowledged something that was sent to it at that time.
  void note_alive(const Account& account, TimeNs at);
  void on_tick(TimeNs now, Out& out);
  // Having left by the version it holds: repeats that version to the keepers it names until a
  // majority of them has shown to have it. Else it could be lost with this one.
  void hand_over(Out& out) const;
  void on_receipt(const Account& from, const RequestBody& body);
  [[nodiscard]] bool handed_over() const { return votes_.size() >= majority(); }
  // What the register says of an account it knows; nullopt of one it does not.
  [[nodiscard]] std::optional<StatementBody> statement_for(const Account& account,
                                                           TimeNs now) const;
  // Doubted, asked, and silent: for some ticks, or ever since the doubt arose.
  [[nodiscard]] bool gone(const Account& account, TimeNs now) const;
  [[nodiscard]] bool never_answered(const Account& account, TimeNs now) const;
  void archive(Archive& ar);

  void configure(const KeeperTiming& timing, std::uint32_t founding_epoch, bool untagged) {
    timing_ = timing;
    founding_epoch_ = founding_epoch;
    untagged_ = untagged;
  }

 private:
  // kPrepared: has the floor for the next version, and nothing to put into it yet.
  enum class Phase : std::uint8_t { kIdle, kPreparing, kAccepting, kPrepared };
  struct Pending {
    Account from;
    RequestBody body;  // without what it answers
    TimeNs at = 0;
    bool relayed = false;
    void archive(Archive& ar);
  };
  struct Doubt {
    Account account;
    TimeNs since = 0;     // arose, or last heard
    TimeNs at = 0;        // when a neighbour last said so
    Account by;           // the neighbour that said so first
    bool heard = false;   // since the doubt arose
    bool shared = false;  // by two neighbours at least
    void archive(Archive& ar);
  };
  struct Timed {
    Account account;
    TimeNs since = 0;
    void archive(Archive& ar);
  };

  void send(NodeId to, Body body, Out& out) const;
  void adopt(Register value, TimeNs now);
  void announce(const Register& before, TimeNs now, Out& out) const;
  [[nodiscard]] Register compose(TimeNs now);
  [[nodiscard]] bool tied(const Account& a, const Account& b) const;
  void enter(RegisterEdit& edit, const Pending& p, TimeNs now);
  static void release(RegisterEdit& edit, const Pending& p);
  void find_neighbours(RegisterEdit& edit, const Account& account, TimeNs now);
  void take(const Account& from, const RequestBody& body, bool relayed, TimeNs now);
  void relay(TimeNs now, Out& out) const;
  void doubt(const Account& account, const Account& by, TimeNs now);
  void review_doubts(const Register& candidate, TimeNs now);
  void note_successor(const Account& from, TimeNs now);
  // Gone, and not only to one: its turn to propose goes to the next.
  [[nodiscard]] bool out_of_turn(const Account& account, TimeNs now) const;
  [[nodiscard]] bool closed_upon(const Account& account) const;
  [[nodiscard]] bool ripening(const Register& next, TimeNs now) const;
  [[nodiscard]] bool may_open(const Account& account, TimeNs now);
  [[nodiscard]] Timed* find_contact(const Account& account);
  [[nodiscard]] bool heard_lately(const Account& account, TimeNs now);
  // `answered`: it has answered a question of late, so what it said was not under way for long. Of
  // an account in doubt nothing else counts.
  void note_contact(const Account& from, bool answered, TimeNs now);
  // The question of this tick, and whether a request answers one of the last few.
  [[nodiscard]] std::uint32_t question(TimeNs now) const;
  [[nodiscard]] bool answers(const RequestBody& body, TimeNs now) const;
  // How many neighbours may still answer the account and so keep it unfenced.
  [[nodiscard]] std::size_t supporters(const Register& r, const Entry& e, TimeNs now) const;
  [[nodiscard]] std::size_t supporters_to_come(const Register& r, const Entry& e) const;
  void pursue(TimeNs now, Out& out);
  void propose(TimeNs now, Out& out);
  void prepare(TimeNs now, Out& out);
  void start_accepting(Register value, TimeNs now, Out& out);
  [[nodiscard]] int copies(TimeNs since, TimeNs now) const;
  void repeat(TimeNs now, Out& out);
  void repeat_vote(TimeNs now, Out& out) const;
  void count_vote(const Account& from);
  void tally(const Ballot& ballot, const Account& voter);
  void pass_on(TimeNs now, Out& out) const;
  void decide_if_voted(TimeNs now, Out& out);
  [[nodiscard]] Account seat_of(NodeId node) const;
  void give_way(TimeNs now);
  void take_over(TimeNs now, Out& out);
  [[nodiscard]] DurationNs patience(TimeNs now) const;
  [[nodiscard]] std::size_t majority() const { return decided_.keepers.size() / 2 + 1; }

  KeeperTiming timing_;
  std::uint32_t founding_epoch_ = 0;
  bool untagged_ = false;
  Account self_;
  Register decided_;
  // As a voter on version decided_.version + 1
  Ballot promised_;
  Ballot accepted_at_;
  std::vector<Register> accepted_;  // none or one
  TimeNs accepted_since_ = 0;
  Ballot tally_at_;             // the highest ballot a vote was heard for
  std::vector<Account> tally_;  // and whose
  // As a proposer of it
  Phase phase_ = Phase::kIdle;
  Ballot ballot_;
  std::uint32_t round_seen_ = 0;
  Register proposal_;
  Ballot best_at_;
  std::vector<Register> best_;  // the accepted value of the highest ballot heard in promises
  std::vector<Account> votes_;
  TimeNs phase_since_ = 0;
  TimeNs sent_at_ = 0;
  TimeNs needed_since_ = kNever;
  TimeNs held_at_ = 0;  // when it last waited for a doubt to ripen, or gave way
  // What the fleet wants of the register
  std::vector<Pending> pending_;  // sorted by account
  bool fresh_ = false;            // something new since the last look
  std::vector<Doubt> doubts_;
  std::vector<Timed> certain_;    // dead for certain, since when known
  std::vector<Timed> contacts_;   // who was heard when, of late; sorted by account
  std::vector<Account> courted_;  // to be asked whether they are there, for an edge
  TimeNs probed_at_ = 0;
};

}  // namespace laird::consensus
