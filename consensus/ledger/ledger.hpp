// The share ledger of one node: it decides how much of the fleet's cpu, gpu and power the node may
// use. There is no central node, and the shares in use never exceed the budget, whatever the
// network does.
//
// Source: the CPU scheduling dynamics of the co-optimization paper (Doostmohammadian et al. 2025,
// equation 30), made asynchronous: cumulative grants, leases, and a register of births and deaths.
// docs/ledger.md explains the protocol, its invariants I1 to I5 and why they hold.
//
// How to drive a ledger. It is pure: messages and time go in, messages come out.
//   Ledger ledger(config, self, incarnation, members, members, now);
//   every config.tick:      ledger.on_tick(now, out);
//   on a message:           ledger.on_message(from, *decode(bytes), now, out);
//   what the tasks need:    ledger.set_demand(resource, demand);
//   after each of them:     journal (archive), then enforce effective(now), then arm the watchdog
//                           with fence_deadline(), and only then send out.messages.
// - `now` is a clock of the node that never goes back and counts suspend. The clocks of different
//   nodes need not agree; they must run within drift_ppm of true time.
// - `incarnation` must be greater than at any earlier start of this node without its journal.
//   Incarnation 1 is for members of a fleet that its configuration founds, all at once. A node with
//   any other incarnation enters with nothing. If no register is left, or there never was one, the
//   fleet is founded as soon as every member is present (founding.hpp).
// - After a restart with the journal: construct the ledger, read the archive over it, and attach()
//   the neighbour graphs. If the time spent away is not known, start without the journal.
// - Messages go to any member, not only to neighbours. The transport must name the sender truly:
// the
//   ledger believes what enough members say alike, and nothing on one member's word alone.
#pragma once

#include <memory>
#include <optional>

#include "consensus/ledger/demand.hpp"
#include "consensus/ledger/edge.hpp"
#include "consensus/ledger/founding.hpp"
#include "consensus/ledger/words.hpp"
#include "consensus/neighbour_graph.hpp"
#include "consensus/timing.hpp"
#include "consensus/voting/register_voter.hpp"

namespace laird::consensus {

// Ways to break the ledger on purpose, so that the checkers can show they notice.
struct LedgerFaults {
  bool no_fence = false;           // a node that is cut off goes on using its share
  bool untagged_closings = false;  // a closing counts whichever edge and incarnation it names
  bool trusting = false;           // every member is believed on its word alone
};

struct LedgerConfig {
  std::uint32_t founding_epoch = 1;
  DurationNs tick = kSecond;
  DurationNs lease = 60 * kSecond;
  std::uint32_t drift_ppm = 200;       // clocks run within this of true time
  std::uint32_t theta_permille = 800;  // step of the price rule
  LedgerFaults faults;
  CountersBegin counters;  // for simulations
};

class Ledger {
 public:
  Ledger(const LedgerConfig& config, NodeId self, std::uint32_t incarnation,
         std::shared_ptr<const NeighbourGraph> founders,
         std::shared_ptr<const NeighbourGraph> members, TimeNs now);

  void on_message(NodeId from, const Message& message, TimeNs now, Out& out);
  // Once per config.tick.
  void on_tick(TimeNs now, Out& out);
  void set_demand(std::size_t resource, const Demand& demand);
  // The fleet's member list changed: edges to new neighbours open, edges to others retire.
  void set_members(std::shared_ptr<const NeighbourGraph> members);
  // After a restart from the journal: the neighbour graph is not part of the archived state.
  void attach(std::shared_ptr<const NeighbourGraph> founders,
              std::shared_ptr<const NeighbourGraph> members);
  // The node uses nothing from now on, hands over what it holds and closes its account. The process
  // may stop once left() is true; to stop earlier is an ordinary crash.
  void leave() { leaving_ = true; }
  [[nodiscard]] bool left() const { return left_; }
  [[nodiscard]] bool leaving() const { return leaving_; }

  // What this node may use now: its holding clipped to [0, cap], and nothing while it is fenced.
  [[nodiscard]] Shares effective(TimeNs now) const;
  [[nodiscard]] Shares holding() const;
  [[nodiscard]] bool fenced(TimeNs now) const;
  // When the node will be fenced if no further message is acknowledged: the deadline for the
  // watchdog.
  [[nodiscard]] TimeNs fence_deadline() const;
  [[nodiscard]] Account account() const { return self_; }
  // Whether the account is entered in the register. False before that, and between two
  // incarnations.
  [[nodiscard]] bool entered() const { return version_ != 0 && !dead_; }
  [[nodiscard]] Epoch founding_epoch() const { return founding_epoch_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  [[nodiscard]] const Shares& base() const { return base_; }
  // The newest register this node holds as a keeper; version 0: it holds none.
  [[nodiscard]] const Register& registered() const { return voter_.value(); }
  // The next version for which this node has voted as a keeper; nullptr: none.
  [[nodiscard]] const Register* voted_for() const { return voter_.voted_for(); }
  // Whether this node can tell others that version as a keeper that knows it.
  [[nodiscard]] bool remembers(std::uint32_t version) const { return voter_.remembers(version); }
  // Whether the account was declared dead: the next tick begins a new incarnation.
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }
  // A message of another wire version came from that node. True if that was not known yet: then
  // somebody should be told.
  bool note_other_wire(NodeId from, std::uint8_t version);
  // What was refused, by reason.
  [[nodiscard]] Refusals refusals() const;
  [[nodiscard]] const LedgerConfig& config() const { return config_; }
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }
  // Whom this node asks, as the keepers of the register.
  [[nodiscard]] const std::vector<Account>& known_keepers() const { return keepers_; }
  // The most that would have to move over one of this node's edges so that both ends lack equally;
  // nullopt: no neighbour has told its price. For reports, never for a decision.
  [[nodiscard]] std::optional<Parts> disagreement(std::size_t resource) const;
  // The demand as it was set, for comparison with a central optimum.
  [[nodiscard]] const Demand& demand(std::size_t resource) const { return demand_[resource]; }
  void archive(Archive& ar);

 private:
  // ledger.cpp: edges and the fence
  void begin(std::uint32_t incarnation, TimeNs now);
  void live_on(TimeNs now);
  // The account was declared dead while it was leaving, and its departure is not confirmed yet.
  [[nodiscard]] bool resigning() const { return leaving_ && dead_ && !left_; }
  // The departure is confirmed by a version that this node holds and other keepers may not have.
  [[nodiscard]] bool released(TimeNs now) const;
  void configure_voter();
  void found(Register value, TimeNs now);
  void close_edges(TimeNs now);
  void retire_edges(TimeNs now);
  void speak(TimeNs now, Out& out);
  void on_edge(NodeId from, const EdgeBody& body, TimeNs now);
  [[nodiscard]] std::uint8_t degree() const;
  [[nodiscard]] std::uint8_t quorum_in_force() const;
  [[nodiscard]] DurationNs silence_limit() const;
  [[nodiscard]] DurationNs fence_age() const;
  void send(NodeId to, Body body, Out& out) const;

  // price.cpp: prices and grants
  [[nodiscard]] Demand demand_of(std::size_t r) const;
  [[nodiscard]] Prices prices() const;
  void grant();
  bool grant_resource(std::size_t r, std::vector<const Edge*>& wanted);
  void free_credit(const std::vector<const Edge*>& wanted);

  // register_requests.cpp: what is asked of the register, and what it says
  void on_register_message(const Account& from, const Message& m, TimeNs now, Out& out);
  void on_keepers_message(const Account& from, const Message& m, TimeNs now, Out& out);
  // How many members have to say the same before it is believed.
  [[nodiscard]] std::size_t words_needed(TimeNs now) const;
  [[nodiscard]] std::size_t words_needed_of(const Account& keeper, std::uint32_t version,
                                            TimeNs now) const;
  void note_first_version(std::uint32_t version, TimeNs now);
  // Whether one member's word that the register has that version may be true (kVersionStep).
  [[nodiscard]] bool believable(std::uint32_t version, TimeNs now) const;
  [[nodiscard]] std::optional<NodeId> only_keeper() const;
  void count_speakers(TimeNs now);
  // Draws the conclusions from what enough members say alike.
  void heed_words(TimeNs now);
  void heed_statements(TimeNs now);
  void follow(Epoch founding_epoch, bool sure, TimeNs now);
  void refuse(Refusal reason);
  void apply(const StatementBody& s, TimeNs now);
  static void go_on_from(const std::vector<Edge>& old, Edge& edge);
  void catch_up(TimeNs now);
  void ask(TimeNs now, Out& out);
  void review_quorum();
  // How long this edge may be silent before it is closed.
  [[nodiscard]] DurationNs silence_max(const Edge& e, TimeNs now) const;
  // Whether the closing of the edge may be reported to the keepers.
  [[nodiscard]] bool may_report_closing(const Edge& e, TimeNs now) const;
  [[nodiscard]] RequestBody request(TimeNs now) const;

  // founding.cpp
  void found_if_lost(TimeNs now, Out& out);
  void call_roll(TimeNs now, Out& out);
  void judge_roll(TimeNs now);
  [[nodiscard]] bool register_lost(TimeNs now) const;
  bool lost_again(TimeNs now);
  [[nodiscard]] bool stands(const PresentBody& claim) const;
  [[nodiscard]] Epoch next_epoch(const std::vector<Account>& accounts) const;
  [[nodiscard]] bool at_work(TimeNs now) const { return entered() && !fenced(now); }
  [[nodiscard]] PresentBody present(std::uint64_t call) const;
  void begin_roll(TimeNs now);
  void take_present(const Account& from, const PresentBody& body);
  bool on_founding_message(const Account& from, const Message& m, TimeNs now, Out& out);
  void on_found(const Account& from, const FoundBody& body, TimeNs now, Out& out);
  void on_found_ack(const Account& from, const FoundAckBody& body, TimeNs now, Out& out);
  void tell_left(Out& out) const;
  void start_epoch(TimeNs now);
  [[nodiscard]] bool stuck(TimeNs now) const;
  [[nodiscard]] NodeId caller() const { return members_->members().front(); }

  LedgerConfig config_;
  Account self_;
  Epoch founding_epoch_ = 0;  // 0: none, the node waits for a founding
  std::shared_ptr<const NeighbourGraph> founders_;
  std::shared_ptr<const NeighbourGraph> members_;
  std::array<Demand, kResources> demand_{};
  Shares base_{};
  std::vector<Edge> edges_;
  std::uint32_t version_ = 0;  // of the register's last statement on this account; 0: none yet
  std::uint32_t living_ = 0;   // how many accounts that statement counted
  std::uint8_t quorum_ = 1;
  std::uint32_t quorum_revision_ = 0;
  std::uint8_t quorum_next_ = 1;  // asked for as term_ + 1, if asked_
  bool asked_ = false;
  std::vector<Account> keepers_;
  std::uint32_t keepers_version_ = 0;
  RegisterVoter voter_;
  Founding founding_;
  TimeNs outside_since_ = kNever;  // since when the account has not been entered
  TimeNs urgent_since_ = kNever;   // since when an urgent request has had no effect
  TimeNs asked_at_ = 0;
  TimeNs told_at_ = 0;  // when the register last changed something of this account
  TimeNs members_since_ = 0;
  TimeNs leaving_since_ = 0;
  bool leaving_ = false;
  bool left_ = false;
  bool dead_ = false;
  std::uint32_t newest_edge_told_ = 0;  // the highest edge number in a statement
  bool behind_ = false;  // a neighbour speaks on an edge that no statement has named yet
  std::uint64_t ticks_ = 0;
  std::uint64_t rejected_ = 0;
  Words words_;
  // What was believed of one member alone, and the version that was certain before it.
  struct Unsure {
    bool epoch = false;
    bool keepers = false;
    std::uint32_t keepers_version = 0;
    void archive(Archive& ar) { ar(epoch, keepers, keepers_version); }
  };
  struct OtherWire {
    NodeId node = 0;
    std::uint8_t version = 0;
    void archive(Archive& ar) { ar(node, version); }
  };
  std::vector<OtherWire> other_wires_;
  Unsure unsure_;
  std::uint32_t one_speaker_ticks_ = 0;  // for how many ticks one member alone has spoken
  Refusals refusals_;
  std::uint32_t first_version_ = 0;  // the first known of this founding, and since when; 0: none
  TimeNs first_version_at_ = 0;
};

}  // namespace laird::consensus
