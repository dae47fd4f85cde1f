// A simulated fleet of real ledgers in one process. Time is virtual and counted in ticks, clocks
// drift, the network loses, repeats, delays and reorders packets, links are cut, the fleet is
// partitioned, boards crash and come back. Everything follows from the seed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consensus/ledger/ledger.hpp"
#include "lab/ledger/world/liar.hpp"
#include "lab/ledger/world/random.hpp"

namespace laird::lab {

using consensus::Account;
using consensus::Ledger;
using consensus::NeighbourGraph;
using consensus::NodeId;
using consensus::Parts;
using consensus::Shares;

struct NetworkConfig {
  double loss = 0.0;
  double duplicate = 0.0;
  int delay_min = 1;  // ticks
  int delay_max = 1;
  double stale = 0.0;  // chance that a copy of a packet is kept for release_stale()
};

struct Board {
  std::unique_ptr<Ledger> ledger;
  bool up = true;
  std::int64_t drift_ppm = 0;  // of this board's clock
  std::string journal;         // the archived ledger at the crash
  Shares left_on{};            // the shares that a crashed agent leaves enforced
  TimeNs watchdog_at = 0;      // local time at which the watchdog ends that
  std::uint32_t partition = 0;
};

// How a world differs from the plain one.
struct WorldOptions {
  // Boards that begin anew take seconds since 2020 as their incarnation, as real ones do.
  bool real_incarnations = false;
  bool rebooted = false;     // all boards begin so: the fleet has to be founded by a roll call
  bool broker_lies = false;  // the broker holds back, repeats and drops, link by link, as it likes
};

// The last state of an account whose board goes on under a later incarnation.
struct Ghost {
  Account account;
  std::unique_ptr<Ledger> ledger;
};

class World {
 public:
  World(const consensus::LedgerConfig& config, std::shared_ptr<const NeighbourGraph> founders,
        const NetworkConfig& network, std::uint64_t seed, const WorldOptions& options = {});

  // One tick: packets that are due arrive, then every board's ledger ticks.
  void step();
  void crash(NodeId node);
  void restart_with_journal(NodeId node);
  void restart_without_journal(NodeId node);
  void add_board(NodeId node, std::shared_ptr<const NeighbourGraph> members);
  void set_members(NodeId node, std::shared_ptr<const NeighbourGraph> members);
  void cut(NodeId a, NodeId b, bool broken);
  void release_stale();  // delivers every copy that was kept back
  // From now on that board lies.
  void add_liar(NodeId node, std::uint64_t seed) { liars_.emplace_back(node, seed); }
  void stop_lies();  // of members and of the broker
  [[nodiscard]] const std::vector<Liar>& liars() const { return liars_; }
  // Whether the board has never lied. What a liar's ledger says of itself is no measure.
  [[nodiscard]] bool honest(NodeId node) const;
  // All boards stand still for that long while their clocks run on: no ledger ticks, nothing
  // arrives.
  void blackout(std::int64_t ticks) { still_ += ticks; }

  [[nodiscard]] TimeNs local_time(const Board& board) const;
  [[nodiscard]] std::int64_t tick() const { return tick_; }
  [[nodiscard]] std::vector<Board>& boards() { return boards_; }
  [[nodiscard]] const std::vector<Board>& boards() const { return boards_; }
  [[nodiscard]] const std::vector<Ghost>& ghosts() const { return ghosts_; }
  // The honest ledger with the newest register, running or not: the highest version of the latest
  // founding epoch. Never nullptr after the founding.
  [[nodiscard]] const Ledger* newest(bool only_up = false) const;
  // Whether the account is in the newest register, dead or alive, so that it is not settled yet.
  [[nodiscard]] bool unsettled(const Account& account) const;
  [[nodiscard]] std::uint64_t payload_bytes() const { return payload_bytes_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t rejected_bytes() const { return rejected_; }
  [[nodiscard]] NetworkConfig& network() { return network_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::shared_ptr<const NeighbourGraph> graph() const { return founders_; }
  // The account's ledger, on its board or as a ghost; nullptr: there is none.
  [[nodiscard]] const Ledger* find(const Account& account) const;

 private:
  // What was sent once: the copies of a packet, and equal packets to several boards, are read once.
  struct Parcel {
    std::string bytes;
    bool opened = false;
    std::optional<consensus::Message> message;  // nullopt: it does not decode
  };
  struct Packet {
    NodeId from = 0;
    NodeId to = 0;
    std::shared_ptr<Parcel> parcel;
  };
  void deliver(const Packet& packet);
  void post(NodeId from, consensus::Out& out);
  void arrive_after(std::int64_t delay, Packet packet);  // in ticks
  [[nodiscard]] bool connected(NodeId a, NodeId b) const;
  [[nodiscard]] std::uint32_t next_incarnation(std::uint32_t last) const;
  bool broker_meddles(const Packet& packet);

  consensus::LedgerConfig config_;
  std::shared_ptr<const NeighbourGraph> founders_;
  std::shared_ptr<const NeighbourGraph> members_;
  NetworkConfig network_;
  Random random_;
  std::int64_t tick_ = 0;
  std::int64_t still_ = 0;     // ticks for which all boards stood still
  std::vector<Board> boards_;  // by node id
  std::vector<Ghost> ghosts_;
  std::vector<std::vector<Packet>> due_;  // by tick modulo the size
  std::vector<Packet> stale_;
  std::vector<std::pair<NodeId, NodeId>> cuts_;
  WorldOptions options_;
  std::uint64_t seed_ = 0;
  std::vector<Liar> liars_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t rejected_ = 0;
  consensus::Out out_;
  Bytes scratch_;
};

}  // namespace laird::lab
