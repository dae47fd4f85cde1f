// One keeper's part in the agreement on the next version of the register: Paxos.
//
// Source: single-decree Paxos (Lamport 1998), one instance per version, in the form that carries
// the whole value (Rystsov 2018): version v+1 is decided by a majority of the keepers that version
// v names. Deviations:
// - Ballot round 0 belongs to the owner of the present version, who proposes without a first phase.
// - A keeper that starts without its journal is another account and has no seat, so no vote is ever
//   forgotten.
// - Voters pass an undecided proposal on, and their votes for it. Whoever sees a majority of votes
//   for one ballot has decided. So a cut link or two between keepers stops nobody.
// - A promise holds for every later version as long as the keepers are the same. So whoever got a
//   version decided after a first phase needs none for the next (Lamport 1998, multi-decree).
// To "have the floor" is to hold the promises of a majority and nothing to propose yet.
//
// The class does not know what a version says: RegisterVoter composes versions, asks here when it
// may propose, and hands the proposal in. docs/ledger.md, "The register", tells the whole.
//
// Invariants: a promise is never lowered while the keepers are the same; accepted_at_ is never
// above promised_; votes are counted only of keepers of the present version.
#pragma once

#include <functional>
#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"
#include "consensus/timing.hpp"

namespace laird::consensus {

class Ballots {
 public:
  // Whether an account has lost its turn to propose, because it seems to be gone.
  using LosesTurn = std::function<bool(const Account&)>;

  void configure(DurationNs tick, std::uint32_t founding_epoch);
  // Forgets everything but the configuration.
  void begin(const Account& self);
  void set_self(const Account& self) { self_ = self; }

  // The newest version known here; version 0: none.
  [[nodiscard]] const Register& decided() const { return decided_; }
  // Whether this account has a seat among the keepers of that version.
  [[nodiscard]] bool seated() const { return decided_.is_keeper(self_); }
  // The proposal for the next version that this keeper has voted for last; nullptr: none.
  [[nodiscard]] const Register* voted_for() const {
    return accepted_.empty() ? nullptr : &accepted_.front();
  }
  // A newer version has been decided: whatever was under way is over.
  void adopt(Register value);

  // --- As a voter ---
  void on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out);
  // True if this keeper voted (again) for the proposal, so that it may be decided now.
  bool on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out);
  // Counts a vote for a ballot on the next version, whoever proposed it.
  void tally(const Ballot& ballot, const Account& voter);
  // Whether a majority has voted for what this keeper has voted for.
  [[nodiscard]] bool voted_by_majority() const;
  // Makes that proposal the present version.
  void decide();
  // Repeats the promise or the vote to the proposer: it may have been lost.
  void repeat_vote(TimeNs now, Out& out) const;
  // Sends an undecided proposal to the keepers that may not know it, and the own vote to the
  // others.
  void pass_on(TimeNs now, Out& out) const;

  // --- As a proposer ---
  // Once per tick: repeats the questions of a round under way, or gives the round up. False if no
  // round is under way.
  bool pursue(TimeNs now, Out& out);
  // Whether a proposal is due: something has been waiting, or a vote has not led to a decision.
  [[nodiscard]] bool has_open_business() const {
    return needed_since_ != kNever || !accepted_.empty();
  }
  // Whether a vote cast here has stayed undecided for so long that it needs another round.
  [[nodiscard]] bool vote_is_stuck(TimeNs now) const;
  // Something has to be entered, or nothing has to be any more.
  void note_needed(TimeNs now);
  void note_not_needed() { needed_since_ = kNever; }
  // Whether the version may still wait for what belongs into it; wait() lets it.
  [[nodiscard]] bool may_wait(TimeNs now) const { return now - needed_since_ < gather_time(); }
  void wait(TimeNs now) { waited_at_ = now; }
  [[nodiscard]] bool has_floor() const { return phase_ == Phase::kPrepared; }
  // The owner of the present version proposes in round 0, without a first phase.
  [[nodiscard]] bool may_use_round_zero() const {
    return decided_.owner == self_ && accepted_.empty() && promised_.round == 0;
  }
  void use_round_zero() { ballot_ = {0, self_.node}; }
  [[nodiscard]] bool is_my_turn(TimeNs now, const LosesTurn& loses_turn) const;
  // Whether this keeper is the next in line after an owner that has lost its turn. It then asks for
  // the floor before there is something to enter, so that a death need not wait for that.
  [[nodiscard]] bool should_take_over(const LosesTurn& loses_turn) const;
  // The keeper that is first in line to propose.
  [[nodiscard]] Account next_proposer(const LosesTurn& loses_turn) const;
  // First phase: asks for the promises of a majority.
  void prepare(TimeNs now, Out& out);
  // Counts a promise; false if it does not belong to the first phase under way.
  bool on_promise(const Account& from, const PromiseBody& body);
  [[nodiscard]] bool promised_by_majority() const { return votes_.size() >= majority(); }
  // The proposal that an earlier round may have decided and that this round must propose again;
  // nullptr: none, the proposer is free.
  [[nodiscard]] const Register* must_propose() const {
    return best_.empty() ? nullptr : &best_.front();
  }
  // A majority has promised, and there is nothing to propose yet.
  void keep_floor() { phase_ = Phase::kPrepared; }
  // Second phase: asks for the votes of a majority.
  void start_accepting(Register value, TimeNs now, Out& out);
  [[nodiscard]] bool is_accepting(const Ballot& ballot) const {
    return phase_ == Phase::kAccepting && ballot == ballot_;
  }
  void on_refused(const RefusedBody& body, TimeNs now);

  // --- As a keeper that has left by the version it holds ---
  // Repeats that version to its keepers until a majority has shown to have it: it could be lost
  // with this keeper otherwise.
  void hand_over(Out& out) const;
  void on_receipt(const Account& from, std::uint32_t version);
  [[nodiscard]] bool handed_over() const { return votes_.size() >= majority(); }

  // The tally was added in a later format of the journal, behind what follows this class there.
  void archive(Archive& ar);
  void archive_tally(Archive& ar);

 private:
  enum class Phase : std::uint8_t { kIdle, kPreparing, kAccepting, kPrepared };

  void send(NodeId to, Body body, Out& out) const;
  // Answers a message about another version than the next one; false if it is about the next.
  bool answer_other_version(const Account& from, std::uint32_t version, Out& out) const;
  void repeat(TimeNs now, Out& out);
  [[nodiscard]] int copies(TimeNs since, TimeNs now) const;
  void count_vote(const Account& from);
  void give_way(TimeNs now);
  [[nodiscard]] Account seat_of(NodeId node) const;
  [[nodiscard]] std::size_t owner_seat() const;
  [[nodiscard]] DurationNs patience(const LosesTurn& loses_turn) const;
  [[nodiscard]] DurationNs gather_time() const { return kGatherTicks * tick_; }
  [[nodiscard]] std::size_t majority() const { return decided_.keepers.size() / 2 + 1; }

  DurationNs tick_ = kSecond;
  std::uint32_t founding_epoch_ = 0;
  Account self_;
  Register decided_;
  // As a voter on version decided_.version + 1
  Ballot promised_;
  Ballot accepted_at_;
  std::vector<Register> accepted_;  // the proposal voted for; none or one
  TimeNs accepted_since_ = 0;       // 0: since this tick
  Ballot tally_at_;                 // the highest ballot for which a vote was heard
  std::vector<Account> tally_;      // whose votes for it were heard
  // As a proposer of it
  Phase phase_ = Phase::kIdle;
  Ballot ballot_;
  std::uint32_t round_seen_ = 0;
  Register proposal_;
  Ballot best_at_;
  std::vector<Register> best_;  // the vote of the highest ballot told in promises; none or one
  std::vector<Account> votes_;  // who promised; or, when handing over, who has the version
  TimeNs phase_since_ = 0;
  TimeNs sent_at_ = 0;  // when the round's questions were last sent; 0: not yet
  TimeNs needed_since_ = kNever;
  TimeNs waited_at_ = 0;  // when this keeper last waited for closings or gave way
};

}  // namespace laird::consensus
