// The share ledger of one node: who gets how much of the fleet's cpu, gpu and power, with no head,
// never above the budget whatever the network does.
//
// Source: the CPU scheduling dynamics of the co-optimization paper (Doostmohammadian et al. 2025,
// equation 30), made asynchronous: cumulative grants, leases, and a register of births and deaths.
// The protocol, its invariants and why they hold are in docs/ledger.md.
//
// How to drive it. Pure: messages and time in, messages out.
//   Ledger ledger(config, self, incarnation, members, members, now);
//   every config.tick:      ledger.on_tick(now, out);
//   on a message:           ledger.on_message(from, *decode(bytes), now, out);
//   what the tasks need:    ledger.set_demand(resource, demand);
//   after each of them:     journal (archive), then enforce effective(now), then arm the watchdog
//                           with fence_deadline(), and only then send out.messages.
// - `now` is any clock of the node that never goes back and counts suspend; clocks of different
//   nodes need not agree, only run within drift_ppm.
// - `incarnation` must be greater than at any earlier start of this node without its journal.
//   Incarnation 1 is for members of a fleet that is founded by its configuration, all at once; any
//   other enters with nothing, and if no register is left (or there never was one) the fleet is
//   founded as soon as every member is there.
// - With the journal: construct, read the archive over it, attach() the neighbour graphs. If the
// time spent
//   away is not known, start without the journal.
// - Messages go to any member, not only to neighbours. The transport must name the sender.
#pragma once

#include <memory>
#include <optional>

#include "consensus/ledger/demand.hpp"
#include "consensus/ledger/edge.hpp"
#include "consensus/neighbour_graph.hpp"
#include "consensus/timing.hpp"
#include "consensus/voting/register_voter.hpp"

namespace laird::consensus {

// Ways to break the ledger on purpose, so that the checkers can show they notice.
struct LedgerFaults {
  bool no_fence = false;           // a node cut off goes on using its share
  bool untagged_closings = false;  // a closing counts whichever life and incarnation it is of
};

struct LedgerConfig {
  std::uint32_t founding_epoch = 1;
  DurationNs tick = kSecond;
  DurationNs lease = 60 * kSecond;
  std::uint32_t drift_ppm = 200;       // clocks run within this of true time
  std::uint32_t theta_permille = 800;  // step of the price rule
  LedgerFaults faults;
};

// The founding of a fleet, or its founding anew when a majority of the keepers has lost its memory.
// Unanimous: the lowest member calls the roll, everybody present leaves whatever was before, and
// only when all have said so does the new epoch start. So there never are shares of two epochs.
struct Founding {
  // Every member: what it has agreed to.
  std::uint32_t promised = 0;  // the epoch for which it has left all others; 0: none
  std::vector<Account> accounts;
  TimeNs promised_at = 0;
  // The lowest member: the roll call under way.
  struct Answer {
    Account from;
    PresentBody body;
    void archive(Archive& ar);
  };
  TimeNs wanted_until = INT64_MIN;  // somebody is stuck
  TimeNs called_at = 0;
  TimeNs call_since = 0;
  std::uint32_t call = 0;
  std::uint8_t lost_calls = 0;  // in a row that found the register lost
  std::vector<Answer> answers;
  std::uint32_t founding_epoch = 0;  // being founded; 0: none
  bool starting = false;
  std::vector<Account> list;
  std::vector<Account> left;
  void archive(Archive& ar);
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
  // The fleet's member list changed: edges open to new neighbours, others retire.
  void set_members(std::shared_ptr<const NeighbourGraph> members);
  // After a restart from the journal: the neighbour graph is not part of the archived state.
  void attach(std::shared_ptr<const NeighbourGraph> founders,
              std::shared_ptr<const NeighbourGraph> members);
  // Uses nothing from now on, hands over what it holds and closes its account. Once left() the
  // process may stop; before that, stopping is an ordinary crash.
  void leave() { leaving_ = true; }
  [[nodiscard]] bool left() const { return left_; }
  [[nodiscard]] bool leaving() const { return leaving_; }

  // What this node may use now: its holding clipped to [0, cap], nothing while fenced.
  [[nodiscard]] Shares effective(TimeNs now) const;
  [[nodiscard]] Shares holding() const;
  [[nodiscard]] bool fenced(TimeNs now) const;
  // When the node fences itself if nothing more is acknowledged; what the watchdog is armed with.
  [[nodiscard]] TimeNs fence_deadline() const;
  [[nodiscard]] Account account() const { return self_; }
  // Entered in the register: takes part. False before, and between two incarnations.
  [[nodiscard]] bool entered() const { return version_ != 0 && !dead_; }
  [[nodiscard]] std::uint32_t founding_epoch() const { return founding_epoch_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  [[nodiscard]] const Shares& base() const { return base_; }
  // The register as far as this node keeps it; version 0: it does not.
  [[nodiscard]] const Register& registered() const { return voter_.value(); }
  // The version after it that this node, as a keeper, has voted for; nullptr: none.
  [[nodiscard]] const Register* voted_for() const { return voter_.voted_for(); }
  // Declared dead while away: the next tick begins a new incarnation.
  [[nodiscard]] bool dead() const { return dead_; }
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }
  [[nodiscard]] const LedgerConfig& config() const { return config_; }
  [[nodiscard]] std::uint64_t ticks() const { return ticks_; }
  // The most that would have to change hands across one of this node's edges for both ends to lack
  // alike; nullopt: no neighbour has told its price. For reports, never for a decision.
  [[nodiscard]] std::optional<Parts> disagreement(std::size_t resource) const;
  // As it was set: what a central answer would be worked out from.
  [[nodiscard]] const Demand& demand(std::size_t resource) const { return demand_[resource]; }
  void archive(Archive& ar);

 private:
  friend struct LedgerProbe;  // the unit tests' view

  // ledger.cpp: edges and the fence
  void begin(std::uint32_t incarnation, TimeNs now);
  void live_on(TimeNs now);
  // Declared dead while it was leaving, and not yet known to have gone.
  [[nodiscard]] bool resigning() const { return leaving_ && dead_ && !left_; }
  // Known to have gone, by a version it keeps itself and that others may not have yet.
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
  void grant_resource(std::size_t r);

  // register_requests.cpp: what is asked of the register, and what it says
  void on_register_message(const Account& from, const Message& m, TimeNs now, Out& out);
  void apply(const StatementBody& s, TimeNs now);
  void catch_up(TimeNs now);
  void ask(TimeNs now, Out& out);
  void review_quorum();
  // How long an edge may be silent before it is closed.
  [[nodiscard]] DurationNs silence_max(const Edge& e, TimeNs now) const;
  [[nodiscard]] bool due(const Edge& e, TimeNs now) const;
  [[nodiscard]] RequestBody request(TimeNs now) const;

  // founding.cpp
  void found_if_lost(TimeNs now, Out& out);
  void call_roll(TimeNs now, Out& out);
  void judge_roll(TimeNs now);
  [[nodiscard]] bool register_lost() const;
  [[nodiscard]] PresentBody present(std::uint32_t call) const;
  bool on_founding_message(const Account& from, const Message& m, TimeNs now, Out& out);
  void on_found(const Account& from, const FoundBody& body, TimeNs now, Out& out);
  void start_epoch(TimeNs now);
  [[nodiscard]] bool stuck(TimeNs now) const;
  [[nodiscard]] NodeId caller() const { return members_->members().front(); }

  LedgerConfig config_;
  Account self_;
  std::uint32_t founding_epoch_ = 0;  // 0: none, waiting for a founding
  std::shared_ptr<const NeighbourGraph> founders_;
  std::shared_ptr<const NeighbourGraph> members_;
  std::array<Demand, kResources> demand_{};
  Shares base_{};
  std::vector<Edge> edges_;
  std::uint32_t version_ = 0;  // of the register, as of its last word on this account; 0: none yet
  bool alone_ = false;
  std::uint8_t quorum_ = 1;
  std::uint32_t quorum_revision_ = 0;
  std::uint8_t quorum_next_ = 1;  // asked for as term_ + 1, if asked_
  bool asked_ = false;
  std::vector<Account> keepers_;
  std::uint32_t keepers_version_ = 0;
  RegisterVoter voter_;
  Founding founding_;
  TimeNs outside_since_ = kNever;  // not entered since
  TimeNs urgent_since_ = kNever;
  TimeNs asked_at_ = 0;
  TimeNs told_at_ = 0;  // when the register last had something to say
  TimeNs members_since_ = 0;
  TimeNs leaving_since_ = 0;
  bool leaving_ = false;
  bool left_ = false;
  bool dead_ = false;
  std::uint32_t newest_edge_told_ = 0;  // the newest life of an edge it was told of
  bool behind_ = false;                 // a neighbour speaks on an edge it was not told of yet
  std::uint64_t ticks_ = 0;
  std::uint64_t rejected_ = 0;
};

}  // namespace laird::consensus
