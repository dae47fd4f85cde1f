// A keeper of the register: one of up to eight accounts that hold the register and agree on its
// next version. Every ledger has a voter; it is silent while its account has no seat.
//
// The voter collects what accounts request (closings of edges, new edges, quorums, departures),
// composes the next version of the register from it, and gets that version decided. Two parts with
// their own state do the rest: Ballots, the agreement among the keepers, and Suspicions, what is
// known of who is alive.
//
// What a proposer puts into a version is at its discretion within the rules: voters vote only for
// what is justified by what they have heard themselves (justified.hpp). A version that is decided
// elsewhere is adopted when enough members say so alike. docs/ledger.md, "The register" and
// "Liars", explains the exchange and why it is safe.
//
// Invariants: pending_ is sorted by account and holds one request of each, the newest; a request
// stays until its author has not repeated it for kRequestTicks, so what one proposer leaves out the
// next can enter.
#pragma once

#include <optional>

#include "consensus/refusals.hpp"
#include "consensus/voting/ballots.hpp"
#include "consensus/voting/justified.hpp"
#include "consensus/voting/suspicions.hpp"

namespace laird::consensus {

struct VoterTiming {
  DurationNs tick = kSecond;
  // An acknowledgement keeps its receiver unfenced no longer than this: the silence limit, and what
  // two clocks may drift apart meanwhile.
  DurationNs longest_silence = 60 * kSecond;
};

// Ways to break the voter on purpose, see LedgerFaults.
struct VoterFaults {
  bool untagged_closings = false;
  bool trusting = false;
  bool unjudged = false;  // votes for whatever is proposed: for a search of the agreement alone
  bool forgets_promises = false;  // a promise ends with the version it was given for
};

class RegisterVoter {
 public:
  void configure(const VoterTiming& timing, Epoch founding_epoch, const VoterFaults& faults);
  // Forgets everything but the configuration. `value`: the register to start from, or version 0.
  void begin(const Account& self, Register value, TimeNs now);

  // Whether the account has a seat in the newest version known here.
  [[nodiscard]] bool seated() const { return ballots_.seated(); }
  // The newest version known here; version 0: none.
  [[nodiscard]] const Register& value() const { return ballots_.decided(); }
  // The next version that this keeper has voted for last; nullptr: none.
  [[nodiscard]] const Register* voted_for() const { return ballots_.voted_for(); }
  [[nodiscard]] bool remembers(std::uint32_t version) const { return ballots_.remembers(version); }
  [[nodiscard]] bool never_answered(const Account& account, TimeNs now) const {
    return suspicions_.never_answered(account, now);
  }
  // What the register says of an account that it knows; nullopt of any other.
  [[nodiscard]] std::optional<StatementBody> statement_for(const Account& account,
                                                           TimeNs now) const;

  void on_tick(TimeNs now, Out& out);
  void on_request(const Account& from, const RequestBody& body, TimeNs now, Out& out);
  // A request that another keeper has received and passes on.
  void on_relay(const Account& by, const RelayBody& body, TimeNs now);
  void on_prepare(const Account& from, const PrepareBody& body, TimeNs now, Out& out);
  void on_promise(const Account& from, const PromiseBody& body, TimeNs now, Out& out);
  void on_accept(const Account& from, const AcceptBody& body, TimeNs now, Out& out);
  void on_accepted(const Account& from, const AcceptedBody& body, TimeNs now, Out& out);
  void on_refused(const Account& from, const RefusedBody& body, TimeNs now);
  // A member says that this version is decided. It is adopted once `needed` members say so alike.
  void on_decided(const Account& from, const Register& value, std::size_t needed, TimeNs now,
                  Out& out);
  // Any message of a keeper has arrived.
  void heard_keeper(const Account& from, TimeNs now);
  // The account has acknowledged something that was sent to it at that time.
  void note_alive(const Account& account, TimeNs at) { suspicions_.note_alive(account, at); }

  // For a keeper that has left by the version it holds: see Ballots.
  void hand_over(Out& out) const { ballots_.hand_over(out); }
  void on_receipt(const Account& from, const RequestBody& body) {
    ballots_.on_receipt(from, body.version);
  }
  [[nodiscard]] bool handed_over() const { return ballots_.handed_over(); }
  [[nodiscard]] Refusals refusals() const;

  // The fields of the parts stand in the order in which the journal has had them from the start.
  void archive(Archive& ar);

 private:
  struct Pending {
    Account from;
    RequestBody body;  // without the probe it answered
    TimeNs at = 0;
    bool relayed = false;  // the author itself was not heard
    NodeId by = 0;         // if relayed: by whom first
    bool alike = false;    // if relayed: by another one too, with the same wishes
    void archive(Archive& ar);
    // Whether a lie of one keeper can have made it up.
    [[nodiscard]] bool believed() const { return !relayed || alike; }
  };
  struct Heard {
    Account keeper;
    TimeNs at = 0;
    void archive(Archive& ar);
  };
  // What a member says is decided.
  struct Decision {
    NodeId by = 0;
    Register value;
    void archive(Archive& ar);
  };

  // register_voter.cpp: requests, rounds and announcements
  void send(NodeId to, Body body, Out& out) const;
  // What was received was written down; `p` is where.
  void heed(const Pending& p, TimeNs now);
  Pending* pending_of(const Account& from);
  [[nodiscard]] const Pending* pending_of(const Account& from) const;
  Pending* insert(Pending received);
  void compare_books(const Account& from, const RequestBody& body);
  void relay(TimeNs now, Out& out) const;
  void note_contact(const Account& from, bool answered, TimeNs now);
  void suspect(const Account& account, const Account& by, TimeNs now);
  [[nodiscard]] Ballots::LosesTurn loses_turn(TimeNs now) const;
  void propose(TimeNs now, Out& out);
  void take_over(TimeNs now, Out& out);
  void ask_for_floor(TimeNs now, Out& out);
  void start_accepting(Register value, TimeNs now, Out& out);
  // The value that the promises of the round under way bind this keeper to; nullptr: none yet.
  [[nodiscard]] const Register* bound(const Ballots::Choice& choice, TimeNs now);
  [[nodiscard]] bool justified(const Register& value, TimeNs now);
  // Whether there are three keepers, and of the other two this one alone has been heard for two
  // terms. Two that are left must be able to go on, and there is nobody to confirm the other's
  // word.
  [[nodiscard]] bool nobody_else(const Account& keeper, TimeNs now) const;
  void count_keepers_heard(TimeNs now);
  [[nodiscard]] std::uint32_t long_enough() const;
  void decide_if_voted(TimeNs now, Out& out);
  void adopted(TimeNs now);
  void announce(const std::vector<Account>& keepers_before, const std::vector<Account>& informed,
                TimeNs now, Out& out) const;

  // compose.cpp: what goes into the next version
  [[nodiscard]] Register compose(TimeNs now);
  Register composed(bool with_renewals, TimeNs now);
  [[nodiscard]] std::vector<Account> closed_upon() const;
  void renew(RegisterEdit& edit) const;
  void enter(RegisterEdit& edit, const Pending& p, TimeNs now);
  void enroll(RegisterEdit& edit, const Pending& p, std::vector<NodeId> wanted, TimeNs now);
  static void release(RegisterEdit& edit, const Pending& p);
  void find_neighbours(RegisterEdit& edit, const Account& account, TimeNs now);
  [[nodiscard]] bool tied(const Account& a, const Account& b) const;
  [[nodiscard]] bool may_open(const Account& account, TimeNs now);

  DurationNs tick_ = kSecond;
  Epoch founding_epoch_ = 0;
  VoterFaults faults_;
  Account self_;
  Ballots ballots_;
  std::vector<Pending> pending_;
  bool news_ = false;  // something may have to be entered since the last look
  Suspicions suspicions_;
  TimeNs probed_at_ = 0;  // when probes and votes were last repeated
  DurationNs longest_silence_ = 60 * kSecond;
  std::vector<Heard> keepers_heard_;
  std::uint32_t one_heard_ticks_ = 0;  // for how many ticks one other keeper alone was heard
  std::vector<Decision> decisions_;    // of each member that has named a newer version, its last
  Refusals refusals_;
};

}  // namespace laird::consensus
