// The share ledger of one node: who gets how much of the fleet's cpu, gpu and power, with no head,
// never above the budget whatever the network does.
//
// Source: the CPU scheduling dynamics of the co-optimization paper (Doostmohammadian et al. 2025,
// equation 30), made asynchronous: cumulative grants, leases, and settlement of the dead. The
// protocol, its invariants and why they hold are in docs/ledger.md.
// Pure: messages and time in, messages out. `now` is any clock of the node that never goes back
// and counts suspend; clocks of different nodes need not agree, only run within drift_ppm.
#pragma once

#include <memory>

#include "consensus/demand.hpp"
#include "consensus/edge.hpp"
#include "consensus/overlay.hpp"

namespace laird::consensus {

// Ways to break the ledger on purpose, so that the checkers can show they notice.
struct LedgerFaults {
  bool no_fence = false;         // a node cut off goes on using its share
  bool untagged_claims = false;  // a claim counts whichever incarnation of the claimant made it
};

struct LedgerConfig {
  std::uint32_t epoch = 1;
  DurationNs tick = kSecond;
  DurationNs lease = 60 * kSecond;
  std::uint32_t drift_ppm = 200;       // clocks run within this of true time
  std::uint32_t theta_permille = 800;  // step of the price rule
  LedgerFaults faults;
};

// A settlement this node conducts.
struct SettlementClaim {
  Account claimant;
  bool none = false;
  Shares sent{};
  Shares heard{};
  void archive(Archive& ar);
};
struct SettlementTarget {
  Account account;
  std::uint32_t nonce = 0;  // names this attempt in every message about it
  bool certain = false;
  Record record;  // newest heard; version 0: none yet
  std::vector<SettlementClaim> claims;
  TimeNs since = 0;
  [[nodiscard]] const SettlementClaim* claim_of(const Account& claimant) const;
  void archive(Archive& ar);
};
struct Settlement {
  bool active = false;
  bool published = false;
  std::uint32_t version = 0;  // of our record that carries the credit
  TimeNs since = 0;
  TimeNs pulled_at = 0;
  Shares credit{};
  std::vector<SettlementTarget> targets;
  std::vector<Account> reborn;  // found to be dead for certain while asking
  void archive(Archive& ar);
};
struct PendingFinal {
  NodeId to = 0;
  std::uint32_t incarnation = 0;
  FinalBody body;
  TimeNs sent_at = 0;
  TimeNs since = 0;
  void archive(Archive& ar);
};
struct Obituary {
  Account account;
  std::vector<Account> absorbed;
  std::vector<RecordEntry> frozen;  // its last word on edges it had frozen
  bool certain = false;             // not merely silent
  void archive(Archive& ar);
};

class Ledger {
 public:
  // A founder's first incarnation starts with its genesis and open edges; anyone else with
  // nothing, asking its neighbours to open.
  Ledger(const LedgerConfig& config, NodeId self, std::uint32_t incarnation,
         std::shared_ptr<const Overlay> founders, std::shared_ptr<const Overlay> members,
         TimeNs now);

  void on_message(NodeId from, const Message& message, TimeNs now, Out& out);
  // Once per config.tick.
  void on_tick(TimeNs now, Out& out);
  void set_demand(std::size_t resource, const Demand& demand);
  // The fleet's member list changed: edges open to new neighbours, others retire.
  void set_members(std::shared_ptr<const Overlay> members);
  // After a restart from the journal: the overlay is not part of the archived state.
  void attach(std::shared_ptr<const Overlay> founders, std::shared_ptr<const Overlay> members);

  // What this node may use now: its holding clipped to [0, cap], nothing while fenced.
  [[nodiscard]] Shares effective(TimeNs now) const;
  [[nodiscard]] Shares holding() const;
  [[nodiscard]] bool fenced(TimeNs now) const;
  // When the node fences itself if nothing more is acknowledged; what the watchdog is armed with.
  [[nodiscard]] TimeNs fence_deadline() const;
  [[nodiscard]] Account account() const { return self_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  [[nodiscard]] const Shares& base() const { return base_; }
  [[nodiscard]] const Settlement& settlement() const { return settlement_; }
  // Settled while away: the next tick begins a new incarnation.
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::uint64_t rejected() const { return rejected_; }
  [[nodiscard]] const LedgerConfig& config() const { return config_; }
  void archive(Archive& ar);

 private:
  friend struct LedgerProbe;  // the unit tests' view

  // ledger.cpp: life of edges
  void found(TimeNs now);
  void begin(std::uint32_t incarnation, TimeNs now);
  void open_missing_edges(TimeNs now);
  void retire_extra_edges();
  void note_incarnation(NodeId node, std::uint32_t incarnation, TimeNs now);
  void on_edge(const Account& from, const EdgeBody& body, TimeNs now, Out& out);
  void on_final_edge(Edge& edge, const EdgeBody& body);
  void on_record(const Account& from, const RecordBody& body, Out& out);
  void on_closed(const Account& from, const ClosedBody& body);
  void bury(TimeNs now);
  void freeze_silent(TimeNs now);
  void advance_edges();
  void update_quorum();
  void set_status(Edge& edge, EdgeStatus status);
  void fold(std::size_t index);
  void erase(std::size_t index);
  Edge& new_edge(const Account& peer, TimeNs now);
  void speak(TimeNs now, Out& out);
  void speak_edge(Edge& edge, const Prices& prices, TimeNs now, Out& out);
  [[nodiscard]] bool committed(std::uint32_t version) const;
  [[nodiscard]] bool usable(const Edge& edge) const;
  [[nodiscard]] Record own_record() const;
  [[nodiscard]] std::uint8_t degree() const;
  [[nodiscard]] Edge* find(const Account& peer);
  [[nodiscard]] const Obituary* obituary(const Account& account) const;
  void remember(Obituary o);
  void send(NodeId to, std::uint32_t incarnation, Body body, Out& out) const;
  [[nodiscard]] DurationNs fence_age() const;

  // ledger_price.cpp: prices and grants
  [[nodiscard]] Prices prices() const;
  void grant();
  void grant_resource(std::size_t r);

  // ledger_settle.cpp: the dead
  [[nodiscard]] bool claimable(const Edge& edge, TimeNs now) const;
  void settle(TimeNs now, Out& out);
  void start_settlement(TimeNs now);
  void add_target(const Account& account, bool certain, TimeNs now);
  void drop_target(const Account& account, Out& out);
  void abort_settlement(Out& out);
  void pull_missing(TimeNs now, Out& out);
  void inquire(const Account& account, Out& out) const;
  [[nodiscard]] bool surely_dead(const Account& account) const;
  [[nodiscard]] bool known_dead(const Account& account) const;
  [[nodiscard]] bool in_group(const Account& account) const;
  [[nodiscard]] std::optional<SettlementClaim> word_of(const SettlementTarget& target,
                                                       const Account& who) const;
  [[nodiscard]] bool complete(TimeNs now) const;
  [[nodiscard]] Obituary obituary_of(const SettlementTarget& target) const;
  bool adopt_and_fold(Edge& edge, const Shares& their_sent, const Shares& their_heard);
  [[nodiscard]] Shares estate() const;
  void publish();
  void conclude(TimeNs now, Out& out);
  void remind(TimeNs now, Out& out);
  void on_pull(const Account& from, std::uint32_t to_incarnation, const PullBody& body, TimeNs now,
               Out& out);
  void on_claim(const Account& from, const ClaimBody& body, TimeNs now, Out& out);
  void on_refuse(const Account& from, const RefuseBody& body, TimeNs now, Out& out);
  void on_release(const Account& from, const ReleaseBody& body);
  void on_contend(const Account& from, const ContendBody& body, Out& out);
  void on_final(const Account& from, const FinalBody& body, Out& out);
  void on_ask(const Account& from, const AskBody& body, Out& out);
  void on_answer(const AnswerBody& body);

  LedgerConfig config_;
  Account self_;
  std::shared_ptr<const Overlay> founders_;
  std::shared_ptr<const Overlay> members_;
  std::array<Demand, kResources> demand_{};
  Shares base_{};
  std::vector<Edge> edges_;
  std::uint32_t version_ = 1;  // of our record
  std::uint8_t quorum_ = 0;    // as published
  std::uint8_t quorum_in_force_ = 0;
  std::uint32_t quorum_version_ = 0;
  std::vector<Account> absorbed_;
  Settlement settlement_;
  std::vector<PendingFinal> finals_;
  std::vector<Obituary> obituaries_;
  std::uint32_t nonce_ = 0;
  std::uint32_t seq_high_ = 0;  // no edge of this account has used a higher message number
  TimeNs retry_at_ = 0;
  bool closed_ = false;
  std::uint64_t ticks_ = 0;
  std::uint64_t rejected_ = 0;
};

// How many fresh edges keep a node of that degree unfenced; settling it by silence needs fewer
// than that many of its neighbours among the dead.
[[nodiscard]] std::uint8_t quorum_for(std::size_t degree);

}  // namespace laird::consensus
