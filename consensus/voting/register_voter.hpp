// A keeper of the register: one of up to seven accounts that hold the register and agree on its
// next version. Every ledger has a voter; it is silent while its account has no seat.
//
// The voter collects what accounts request (closings of edges, new edges, quorums, departures),
// composes the next version of the register from it, and gets that version decided. Two parts with
// their own state do the rest: Ballots, the agreement among the keepers, and Suspicions, what is
// known of who is alive.
//
// What a proposer puts into a version is at its discretion within one rule: it declares an account
// dead by silence only if fewer of the account's neighbours than its quorum may still acknowledge
// its messages. docs/ledger.md, "The register", explains the exchange and why it is safe.
//
// Invariants: pending_ is sorted by account and holds one request of each, the newest; a request
// stays until its author has not repeated it for kRequestTicks, so what one proposer leaves out the
// next can enter.
#pragma once

#include <optional>

#include "consensus/voting/ballots.hpp"
#include "consensus/voting/suspicions.hpp"

namespace laird::consensus {

struct VoterTiming {
  DurationNs tick = kSecond;
  // An acknowledgement keeps its receiver unfenced no longer than this: the silence limit, and what
  // two clocks may drift apart meanwhile.
  DurationNs longest_silence = 60 * kSecond;
};

class RegisterVoter {
 public:
  // `untagged_closings`: a fault for the checkers, see LedgerFaults.
  void configure(const VoterTiming& timing, std::uint32_t founding_epoch, bool untagged_closings);
  // Forgets everything but the configuration. `value`: the register to start from, or version 0.
  void begin(const Account& self, Register value, TimeNs now);

  // Whether the account has a seat in the newest version known here.
  [[nodiscard]] bool seated() const { return ballots_.seated(); }
  // The newest version known here; version 0: none.
  [[nodiscard]] const Register& value() const { return ballots_.decided(); }
  // The next version that this keeper has voted for last; nullptr: none.
  [[nodiscard]] const Register* voted_for() const { return ballots_.voted_for(); }
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
  void on_refused(const RefusedBody& body, TimeNs now);
  void on_decided(const Register& value, TimeNs now);
  // The account has acknowledged something that was sent to it at that time.
  void note_alive(const Account& account, TimeNs at) { suspicions_.note_alive(account, at); }

  // For a keeper that has left by the version it holds: see Ballots.
  void hand_over(Out& out) const { ballots_.hand_over(out); }
  void on_receipt(const Account& from, const RequestBody& body) {
    ballots_.on_receipt(from, body.version);
  }
  [[nodiscard]] bool handed_over() const { return ballots_.handed_over(); }

  // The fields of the parts stand in the order in which the journal has had them from the start.
  void archive(Archive& ar);

 private:
  struct Pending {
    Account from;
    RequestBody body;  // without the probe it answered
    TimeNs at = 0;
    bool relayed = false;
    void archive(Archive& ar);
  };

  // register_voter.cpp: requests, rounds and announcements
  void send(NodeId to, Body body, Out& out) const;
  void take(const Account& from, const RequestBody& body, bool relayed, TimeNs now);
  void relay(TimeNs now, Out& out) const;
  void note_contact(const Account& from, bool answered, TimeNs now);
  void suspect(const Account& account, const Account& by, TimeNs now);
  [[nodiscard]] Ballots::LosesTurn loses_turn(TimeNs now) const;
  void propose(TimeNs now, Out& out);
  void take_over(TimeNs now, Out& out);
  void ask_for_floor(TimeNs now, Out& out);
  void start_accepting(Register value, TimeNs now, Out& out);
  void decide_if_voted(TimeNs now, Out& out);
  void adopted(TimeNs now);
  void announce(const std::vector<Account>& keepers_before, TimeNs now, Out& out) const;

  // compose.cpp: what goes into the next version
  [[nodiscard]] Register compose(TimeNs now);
  [[nodiscard]] std::vector<Account> closed_upon() const;
  void enter(RegisterEdit& edit, const Pending& p, TimeNs now);
  void enroll(RegisterEdit& edit, const Pending& p, std::vector<NodeId> wanted, TimeNs now);
  static void release(RegisterEdit& edit, const Pending& p);
  void find_neighbours(RegisterEdit& edit, const Account& account, TimeNs now);
  [[nodiscard]] bool tied(const Account& a, const Account& b) const;
  [[nodiscard]] bool may_open(const Account& account, TimeNs now);

  DurationNs tick_ = kSecond;
  std::uint32_t founding_epoch_ = 0;
  bool untagged_closings_ = false;
  Account self_;
  Ballots ballots_;
  std::vector<Pending> pending_;
  bool news_ = false;  // something may have to be entered since the last look
  Suspicions suspicions_;
  TimeNs probed_at_ = 0;  // when probes and votes were last repeated
};

}  // namespace laird::consensus
