// One keeper's part in the agreement on the next version of the register: Paxos with one more
// count, so that a keeper that lies divides nobody.
//
// Source: single-decree Paxos (Lamport 1998), one instance per version, in the form that carries
// the whole value (Rystsov 2018): version v+1 is decided by a quorum of the keepers that version v
// names. The second count of votes (lock, then decide) and the rule by which a new proposer is
// bound to an earlier value are those of PBFT (Castro and Liskov 1999; the view change without
// signatures is in Castro's thesis of 2001). Deviations:
// - Ballot round 0 belongs to the owner of the present version, who proposes without a first phase.
// - A keeper that starts without its journal is another account and has no seat, so no vote is ever
//   forgotten.
// - Promises and votes go to every keeper. Each counts them itself and takes nobody's word for a
//   decision, so a cut link or two between keepers stops nobody and a liar decides nothing.
// - A promise holds for every later version as long as the keepers are the same. So whoever got a
//   version decided after a first phase needs none for the next (Lamport 1998, multi-decree).
// - A keeper that knows the version under way already goes on to promise and vote in it, for that
//   value in whatever ballot: its word alone that the version is decided moves nobody, and the
//   others may need its vote. No other value can be decided, so this needs no memory of ballots.
// To "have the floor" is to hold the promises of a quorum and nothing to propose yet. A value has
// two votes of a keeper: the first says that the value is justified; the second, the lock, that the
// keeper has counted a quorum of first votes for it, or that two others have. A quorum of locks
// decides.
//
// The class does not know what a version says: RegisterVoter composes versions, asks here when it
// may propose, and hands the proposal in. docs/ledger.md, "The register" and "Liars", tells the
// whole.
//
// Invariants: a promise is never lowered while the keepers are the same; voted_at_ is never above
// promised_; no two values are voted for in one ballot; votes are counted only of keepers of the
// present version.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"
#include "consensus/timing.hpp"

namespace laird::consensus {

class Ballots {
 public:
  // Whether an account has lost its turn to propose, because it seems to be gone.
  using LosesTurn = std::function<bool(const Account&)>;
  // Whether this keeper may vote for a value by what it knows itself.
  using Justified = std::function<bool(const Register&)>;

  // `forgets_promises`: a fault for the checkers: a promise ends with the version it was given for.
  void configure(DurationNs tick, Epoch founding_epoch, bool forgets_promises = false);
  // Forgets everything but the configuration.
  void begin(const Account& self);
  void set_self(const Account& self) { self_ = self; }

  // The newest version known here; version 0: none.
  [[nodiscard]] const Register& decided() const { return decided_; }
  // Whether this keeper can still vote for that version, which it knows (see `support`).
  [[nodiscard]] bool remembers(std::uint32_t version) const {
    return remembered(version) != nullptr;
  }
  // Whether this account has a seat among the keepers of that version.
  [[nodiscard]] bool seated() const { return decided_.is_keeper(self_); }
  // The proposal for the next version that this keeper has voted for last; nullptr: none.
  [[nodiscard]] const Register* voted_for() const {
    return voted_.empty() ? nullptr : &voted_.front();
  }
  // A newer version has been decided: whatever was under way is over.
  void adopt(Register value);

  // --- As a voter ---
  void on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out);
  // True if this keeper has voted for the proposal, so that it may be decided now.
  bool on_accept(const Account& from, const AcceptBody& body, const Justified& justified,
                 TimeNs now, Out& out);
  // Counts a vote on the next version.
  void on_accepted(const Account& from, const AcceptedBody& body);
  // Whoever says that this is decided is locked on it.
  void on_decided_by(const Account& from, const Register& value);
  // Locks if a quorum has voted. True if a quorum is locked: decide() may follow.
  bool count_votes(Out& out);
  // Makes the proposal on which a quorum is locked the present version.
  void decide();
  // If keepers of the version before still vote on the present one: tells one of them that has
  // missed more than this the version before, of which it needs a second word to vote with them.
  void tell_version_before(const Account& to, std::uint32_t known, TimeNs now, Out& out) const;
  // Repeats the promise or the vote: it may have been lost.
  void repeat_vote(TimeNs now, Out& out) const;
  // Sends an undecided proposal to the keepers that may not know it.
  void pass_on(TimeNs now, Out& out) const;
  // Whether that keeper has shown that it is locked on what this keeper has voted for.
  [[nodiscard]] bool has_shown_lock(const Account& keeper) const;

  // --- As a proposer ---
  // Once per tick: repeats the questions of a round under way, or gives the round up. False if no
  // round is under way.
  bool pursue(TimeNs now, Out& out);
  // Whether a proposal is due: something has been waiting, or a vote has not led to a decision.
  [[nodiscard]] bool has_open_business() const {
    return needed_since_ != kNever || !voted_.empty();
  }
  // Whether a vote cast here has stayed undecided for so long that it needs another round.
  [[nodiscard]] bool vote_is_stuck(TimeNs now) const;
  // Something has to be entered, or nothing has to be any more.
  void note_needed(TimeNs now);
  void note_not_needed() { needed_since_ = kNever; }
  // Whether the version may still wait for what belongs into it; wait() lets it.
  [[nodiscard]] bool may_wait(TimeNs now) const { return now - needed_since_ < gather_time(); }
  void wait(TimeNs now) { waited_at_ = now; }
  // Whether something has been waiting to be entered for longer than two rounds take.
  [[nodiscard]] bool has_waited_long(TimeNs now) const {
    return needed_since_ != kNever && now - needed_since_ > 2 * kRoundTicks * tick_;
  }
  [[nodiscard]] bool has_floor() const { return phase_ == Phase::kPrepared; }
  // The owner of the present version proposes in round 0, without a first phase.
  [[nodiscard]] bool may_use_round_zero() const {
    return decided_.owner == self_ && voted_.empty() && promised_.round == 0;
  }
  void use_round_zero() { ballot_ = {0, self_.node}; }
  [[nodiscard]] bool is_my_turn(TimeNs now, const LosesTurn& loses_turn) const;
  // Whether this keeper is the next in line after an owner that has lost its turn. It then asks for
  // the floor before there is something to enter, so that a death need not wait for that.
  [[nodiscard]] bool should_take_over(const LosesTurn& loses_turn) const;
  // The keeper that is first in line to propose.
  [[nodiscard]] Account next_proposer(const LosesTurn& loses_turn) const;
  // First phase: asks for the promises of a quorum.
  void prepare(TimeNs now, Out& out);
  // Takes a promise down; true if it belongs to the first phase under way here.
  bool on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out);
  // What the promises of a ballot allow to propose in it. nullopt: too few are known, or they
  // contradict each other, and more have to come.
  struct Choice {
    bool free = false;         // nothing can have been decided in an earlier round
    std::uint64_t digest = 0;  // else: of the only value that can
    bool vouched = false;  // kWords keepers at least are locked on it or have voted for it since
  };
  [[nodiscard]] std::optional<Choice> choice_in(const Ballot& ballot) const;
  // The same for the round of this keeper.
  [[nodiscard]] std::optional<Choice> choice() const { return choice_in(ballot_); }
  // The value with that digest, of those that promises have told; nullptr: none.
  [[nodiscard]] const Register* offered(std::uint64_t digest) const;
  // A quorum has promised, and there is nothing to propose yet.
  void keep_floor() { phase_ = Phase::kPrepared; }
  // Second phase: asks for the votes of a quorum.
  void start_accepting(Register value, TimeNs now, Out& out);
  [[nodiscard]] bool is_accepting(const Ballot& ballot) const {
    return phase_ == Phase::kAccepting && ballot == ballot_;
  }
  void on_refused(const Account& from, const RefusedBody& body, TimeNs now);

  // --- As a keeper that has left by the version it holds ---
  // Repeats that version to its keepers until a quorum has shown to have it: it could be lost with
  // this keeper otherwise.
  void hand_over(Out& out) const;
  void on_receipt(const Account& from, std::uint32_t version);
  [[nodiscard]] bool handed_over() const { return receipts_.size() >= quorum(); }

  // How often a keeper was seen to vote for two values in one ballot.
  [[nodiscard]] std::uint64_t equivocations() const { return equivocations_; }

  // In formats before 5 a part of it stood behind what follows this class in the journal.
  void archive(Archive& ar);
  static void archive_old_tally(Archive& ar);

 private:
  enum class Phase : std::uint8_t { kIdle, kPreparing, kAccepting, kPrepared };
  // The last vote heard of a keeper.
  struct Vote {
    Account by;
    Ballot ballot;
    std::uint64_t digest = 0;
    bool locked = false;
    bool decided = false;  // of one that knows the version, and has promised no ballot by that
    void archive(Archive& ar);
  };
  // The last promise heard of a keeper.
  struct Promise {
    Account by;
    Ballot ballot;
    Ballot locked_at;
    std::uint64_t digest = 0;  // 0: locked on nothing
    std::vector<CastVote> votes;
    void archive(Archive& ar);
    // Whether its author has voted for that value, in that ballot or a later one.
    [[nodiscard]] bool voted_for(std::uint64_t digest, const Ballot& since) const;
  };
  // The highest round that a keeper has named.
  struct Told {
    Account by;
    std::uint64_t round = 0;
    void archive(Archive& ar);
  };

  void send(NodeId to, Body body, Out& out) const;
  void send_all(const Body& body, Out& out) const;
  void archive_old(Archive& ar);
  // Answers a message about another version than the next one; false if it is about the next.
  bool answer_other_version(const Account& from, std::uint32_t version, Out& out) const;
  // Supports a version that is known here in a ballot of keepers that do not know it yet.
  void support(const Account& to, std::uint32_t version, const Ballot& ballot, bool tells_value,
               TimeNs now, Out& out);
  // The version of that number, if it is remembered; nullptr else.
  [[nodiscard]] const Register* remembered(std::uint32_t version) const;
  void note_vote(const Ballot& ballot, std::uint64_t digest);
  void repeat(TimeNs now, Out& out);
  [[nodiscard]] int copies(TimeNs since, TimeNs now) const;
  void give_way(TimeNs now);
  void tally(const Vote& vote);
  void note_promise(const Promise& promise);
  void note_round(const Account& by, std::uint64_t round);
  // The highest round that kWords keepers have named at least, or that this keeper has promised.
  [[nodiscard]] std::uint64_t round_base() const;
  [[nodiscard]] std::uint64_t next_round() const;
  [[nodiscard]] bool round_fits(std::uint64_t round) const {
    return round <= round_base() + kRoundStep;
  }
  [[nodiscard]] std::size_t votes_for(const Ballot& ballot, std::uint64_t digest,
                                      bool locked) const;
  // Whether a quorum is bound to the ballot in later versions too: it has promised it or voted in
  // it.
  [[nodiscard]] bool binds_a_quorum(const Ballot& ballot) const;
  // Whether kWords other keepers have voted for it: one of them is honest and had its reasons.
  [[nodiscard]] bool vouched(const Ballot& ballot, std::uint64_t digest) const;
  // Whether the proposer may propose this in that ballot, and whether it needs a reason of its own.
  enum class Permit : std::uint8_t { kNone, kIfJustified, kVouched };
  [[nodiscard]] Permit permit(const Ballot& ballot, std::uint64_t digest) const;
  [[nodiscard]] Promise own_promise() const;
  [[nodiscard]] AcceptedBody own_vote() const;
  [[nodiscard]] bool locked_on_vote() const {
    return !voted_.empty() && !locked_.empty() && locked_at_ == voted_at_;
  }
  [[nodiscard]] Account seat_of(NodeId node) const;
  [[nodiscard]] std::size_t owner_seat() const;
  [[nodiscard]] DurationNs patience(const LosesTurn& loses_turn) const;
  [[nodiscard]] DurationNs gather_time() const { return kGatherTicks * tick_; }
  [[nodiscard]] std::size_t quorum() const { return votes_needed(decided_.keepers.size()); }
  // Groups of three keepers are too small to guard against one of them (votes_needed).
  [[nodiscard]] bool guarded() const { return decided_.keepers.size() > 3; }

  DurationNs tick_ = kSecond;
  Epoch founding_epoch_ = 0;
  bool forgets_promises_ = false;
  Account self_;
  Register decided_;
  Register before_;                // the version before it, if it was known here
  std::vector<Register> bridges_;  // versions by which the keepers became one, the newest last
  TimeNs supported_at_ = kNever;   // when a keeper of that last voted on the present version
  // As a voter on version decided_.version + 1
  Ballot promised_;
  Ballot voted_at_;
  std::vector<Register> voted_;  // the proposal voted for; none or one
  std::vector<CastVote> cast_;   // every proposal voted for, the newest last
  TimeNs voted_since_ = 0;       // 0: since this tick
  Ballot locked_at_;
  std::vector<Register> locked_;   // the proposal locked on; none or one
  std::vector<Vote> votes_;        // of each keeper, the newest
  std::vector<Promise> promises_;  // of each keeper, the newest
  std::vector<Told> told_;         // of each keeper
  Ballot established_;  // in which these keepers have decided an earlier version; its promises hold
  // As a proposer of it
  Phase phase_ = Phase::kIdle;
  Ballot ballot_;
  std::uint64_t rounds_contested_ = 0;
  Register proposal_;
  std::vector<Register> offers_;  // what promises of this round told
  TimeNs phase_since_ = 0;
  TimeNs sent_at_ = 0;  // when the round's questions were last sent; 0: not yet
  TimeNs needed_since_ = kNever;
  TimeNs waited_at_ = 0;           // when this keeper last waited for closings or gave way
  std::vector<Account> receipts_;  // when handing over: who has the version
  std::uint64_t equivocations_ = 0;
};

}  // namespace laird::consensus
