// What a keeper of the register knows of the life of the other accounts: whom it has heard of late,
// whom it suspects to be dead, whom it probes, and whom it knows to be dead.
//
// The network may deliver a packet long after it was sent, so a message of a suspected account
// proves nothing. Only an answer to a recent probe does, or the acknowledgement of something that
// was sent of late. An account becomes suspected when a neighbour reports its silence, closes the
// edge to it, or when too few of its neighbours are left that could keep it unfenced. It becomes
// unresponsive when it answers no probe for kUnresponsiveTicks (consensus/timing.hpp).
//
// Nothing here decides anything. A suspicion makes a death cheaper to enter, because the keeper
// knows in time who answers; who may be declared dead is a matter of supporters() alone, which
// counts what can still keep the account unfenced (docs/ledger.md, invariant I5).
//
// Invariants: a suspected account is alive in the register last given to on_new_version();
// contacts_ is sorted by account; the keeper never suspects itself.
#pragma once

#include <vector>

#include "base/time.hpp"
#include "consensus/message.hpp"
#include "consensus/timing.hpp"

namespace laird::consensus {

class Suspicions {
 public:
  // `longest_silence`: an acknowledgement keeps its receiver unfenced no longer than this.
  void configure(DurationNs tick, DurationNs longest_silence);
  // Forgets everything but the configuration.
  void begin(const Account& self);
  void set_self(const Account& self) { self_ = self; }

  // A new version of the register is in force: drops suspicions of accounts that are dead in it,
  // and notes whom it has confirmed dead.
  void on_new_version(const Register& decided, TimeNs now);

  // The account `by` reports that the account is silent. True if it was not suspected before.
  bool suspect(const Account& account, const Account& by, const Register& decided, TimeNs now);
  // An account speaks: every earlier incarnation of its node has ended, and has acknowledged
  // nothing since.
  void note_successor(const Account& from, const Register& decided, TimeNs now);
  // A message of the account arrived. `answered`: it answers a recent probe or a recent question of
  // a ballot; nothing else counts for a suspected account. True if somebody who was being probed
  // for a new edge was heard for the first time.
  bool note_contact(const Account& from, bool answered, TimeNs now);
  // The account has acknowledged something that was sent to it at that time.
  void note_alive(const Account& account, TimeNs at);

  // Suspects every account that will lack a quorum, and drops the suspicions that are settled.
  // `closed_upon`: the accounts to which a pending request closes an edge. True if somebody is
  // newly suspected.
  bool review(const Register& candidate, const Register& decided,
              const std::vector<Account>& closed_upon, TimeNs now);
  // Whether a proposer should wait before it proposes `next`, because more closings are about to
  // arrive or a probe is about to show whether an account lives.
  [[nodiscard]] bool worth_waiting(const Register& next, const std::vector<Account>& closed_upon,
                                   TimeNs now) const;

  [[nodiscard]] bool any() const { return !suspected_.empty() || !confirmed_dead_.empty(); }
  // Suspected, probed, and silent for kUnresponsiveTicks.
  [[nodiscard]] bool is_unresponsive(const Account& account, TimeNs now) const;
  // Unresponsive, and silent ever since the suspicion arose.
  [[nodiscard]] bool never_answered(const Account& account, TimeNs now) const;
  // Whether the account's turn to propose goes to the next keeper: it is dead, or it is
  // unresponsive and that is not the impression of one neighbour only.
  [[nodiscard]] bool loses_turn(const Account& account, const Register& decided, TimeNs now) const;
  // The suspected accounts that have been silent for so many ticks.
  [[nodiscard]] std::vector<Account> unresponsive(int ticks, TimeNs now) const;
  // The accounts heard within kRequestTicks, in order.
  [[nodiscard]] std::vector<Account> contacts(TimeNs now) const;
  // Whether an edge may be opened to the account, because it was heard just now. An account that is
  // not known to be silent is probed otherwise, so that the answer is there at the next try.
  [[nodiscard]] bool heard_or_probe(const Account& account, TimeNs now);

  // How many neighbours of the entry may still acknowledge its messages and so keep it unfenced.
  [[nodiscard]] std::size_t supporters(const Register& r, const Entry& e, TimeNs now) const;

  // The probe of this tick, and whether a request answers one of the last kAnswerTicks.
  [[nodiscard]] std::uint32_t probe_number(TimeNs now) const;
  [[nodiscard]] bool answers(const RequestBody& body, TimeNs now) const;
  // Sends the probe of this tick to every suspected or probed account by `send(NodeId)`, and
  // forgets old contacts.
  template <class Send>
  void probe(TimeNs now, Send send) {
    for (const Suspicion& s : suspected_) send(s.account.node);
    for (const Account& a : probed_) send(a.node);
    end_probe(now);
  }
  void archive(Archive& ar);

 private:
  struct Suspicion {
    Account account;
    TimeNs silent_since = 0;    // when the suspicion arose or the account last answered
    TimeNs reported_at = 0;     // when a neighbour last reported it
    Account first_by;           // the neighbour that reported it first
    bool answered = false;      // since the suspicion arose
    bool corroborated = false;  // reported by two neighbours at least
    void archive(Archive& ar);
  };
  struct AccountTime {
    Account account;
    TimeNs at = 0;
    void archive(Archive& ar);
  };

  [[nodiscard]] const Suspicion* find(const Account& account) const;
  [[nodiscard]] AccountTime* find_contact(const Account& account);
  [[nodiscard]] bool is_confirmed_dead(const Account& account) const;
  [[nodiscard]] bool silent_for(const Suspicion& s, int ticks, TimeNs now) const;
  void end_probe(TimeNs now);

  DurationNs tick_ = kSecond;
  DurationNs longest_silence_ = 60 * kSecond;
  Account self_;
  std::vector<Suspicion> suspected_;
  std::vector<AccountTime> confirmed_dead_;  // since when this keeper knows
  std::vector<AccountTime> contacts_;        // when each was last heard; sorted by account
  std::vector<Account> probed_;              // not suspected, but wanted as the end of a new edge
};

}  // namespace laird::consensus
