// A fleet of real ledgers in one process: virtual time in ticks, clocks that drift, a network that
// loses, repeats, delays, reorders, cuts and partitions, boards that crash and come back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "consensus/ledger/ledger.hpp"
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
  double stale = 0.0;  // chance that a copy is kept and delivered much later
};

struct Board {
  std::unique_ptr<Ledger> ledger;
  bool up = true;
  std::int64_t drift_ppm = 0;  // of this board's clock
  std::string journal;         // the archived ledger at the crash
  Shares left_on{};            // the quotas a crashed agent leaves set
  TimeNs watchdog_at = 0;      // local time at which the watchdog drops them
  std::uint32_t partition = 0;
};

// The last state of an account whose board has moved on.
struct Ghost {
  Account account;
  std::unique_ptr<Ledger> ledger;
};

class World {
 public:
  World(const consensus::LedgerConfig& config, std::shared_ptr<const NeighbourGraph> founders,
        const NetworkConfig& network, std::uint64_t seed);

  // One tick: what is due arrives, every board ticks.
  void step();
  void crash(NodeId node);
  void restart_with_journal(NodeId node);
  void restart_without_journal(NodeId node);
  void add_board(NodeId node, std::shared_ptr<const NeighbourGraph> members);
  void set_members(NodeId node, std::shared_ptr<const NeighbourGraph> members);
  void cut(NodeId a, NodeId b, bool broken);
  void release_stale();  // deliver every copy kept back
  // Every board stands still while its clock runs on: nothing ticks or arrives for so long.
  void blackout(std::int64_t ticks) { still_ += ticks; }

  [[nodiscard]] TimeNs local_time(const Board& board) const;
  [[nodiscard]] std::int64_t tick() const { return tick_; }
  [[nodiscard]] std::vector<Board>& boards() { return boards_; }
  [[nodiscard]] const std::vector<Board>& boards() const { return boards_; }
  [[nodiscard]] const std::vector<Ghost>& ghosts() const { return ghosts_; }
  // The newest register anyone has: of the latest epoch, the highest version. Never nullptr after
  // the founding.
  [[nodiscard]] const Ledger* newest(bool only_up = false) const;
  // In the newest register, dead or alive: not settled yet.
  [[nodiscard]] bool unsettled(const Account& account) const;
  [[nodiscard]] std::uint64_t payload_bytes() const { return payload_bytes_; }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t rejected_bytes() const { return rejected_; }
  [[nodiscard]] NetworkConfig& network() { return network_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] std::shared_ptr<const NeighbourGraph> graph() const { return founders_; }
  // The account's present ledger, on its board or as a ghost; nullptr when there is none.
  [[nodiscard]] const Ledger* find(const Account& account) const;

 private:
  struct Packet {
    NodeId from = 0;
    NodeId to = 0;
    std::string bytes;
  };
  void deliver(const Packet& packet);
  void post(NodeId from, consensus::Out& out);
  void dispatch(Packet packet);
  [[nodiscard]] bool connected(NodeId a, NodeId b) const;

  consensus::LedgerConfig config_;
  std::shared_ptr<const NeighbourGraph> founders_;
  std::shared_ptr<const NeighbourGraph> members_;
  NetworkConfig network_;
  Random random_;
  std::int64_t tick_ = 0;
  std::int64_t still_ = 0;     // ticks stood still
  std::vector<Board> boards_;  // by node id
  std::vector<Ghost> ghosts_;
  std::vector<std::vector<Packet>> due_;  // by tick modulo the size
  std::vector<Packet> stale_;
  std::vector<std::pair<NodeId, NodeId>> cuts_;
  std::uint64_t payload_bytes_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t rejected_ = 0;
  consensus::Out out_;
  Bytes scratch_;
};

}  // namespace laird::lab
