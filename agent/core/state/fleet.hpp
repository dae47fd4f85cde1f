// A board's place in its fleet: the budget all boards share, the ledger that divides the budget,
// and the operators' commands already carried out.
//
// Every member has a floor of each resource, reserved for it whatever happens; the share ledger
// divides what the budget leaves above all the floors. A board that is cut off, fenced, or has not
// joined yet has its floor and nothing else, so no board ever has to invent a share.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/limits.hpp"
#include "base/archive.hpp"
#include "base/error.hpp"
#include "base/time.hpp"
#include "consensus/ledger/ledger.hpp"

namespace laird::core {

// In the ledger's order. Amounts: thousandths of a core, millionths of a gpu, milliwatts.
enum class Resource : std::uint8_t { kCpu, kGpu, kPower };
inline constexpr std::size_t kResources = consensus::kResources;
using Amounts = std::array<std::int64_t, kResources>;
inline constexpr std::int64_t kUnlimited = -1;

[[nodiscard]] std::string_view name(Resource resource);

struct FleetMember {
  std::string id;
  Amounts floor{};
  bool operator==(const FleetMember&) const = default;
  void archive(Archive& ar);
};

// What the operators wish of the fleet; the same on every board, the higher revision wins.
struct FleetBudget {
  std::uint64_t rev = 0;    // 0: from the config file
  std::uint32_t epoch = 0;  // of the founding; 0: no fleet
  std::vector<std::string> founders;
  std::vector<FleetMember> members;  // ascending by id
  Amounts total{kUnlimited, kUnlimited, kUnlimited};
  // A power budget that takes the place of the other until a wall-clock time.
  std::int64_t power_mw_for_now = kUnlimited;
  TimeNs power_for_now_until_wall = 0;

  bool operator==(const FleetBudget&) const = default;
  [[nodiscard]] const FleetMember* member(std::string_view id) const;
  // The budget at that wall-clock time; kUnlimited where there is none.
  [[nodiscard]] std::int64_t budget_at(Resource resource, TimeNs wall_ns) const;
  // What the ledger divides: the budget less all floors, never less than nothing.
  [[nodiscard]] std::int64_t divided_at(Resource resource, TimeNs wall_ns) const;
  void archive(Archive& ar);
};

// Says what is wrong with a budget, whoever made it.
[[nodiscard]] Status check_fleet_budget(const FleetBudget& budget);
// The ledger knows nodes by number; a budget in which two names share one is refused.
[[nodiscard]] consensus::NodeId node_number(std::string_view id);

struct FleetConfig {
  FleetBudget budget;  // epoch 0: the board is alone
  DurationNs tick = kSecond;
  DurationNs lease = 30 * kSecond;
  void archive(Archive& ar);
};

struct SeenCommand {
  std::string id;
  TimeNs expires_wall = 0;
  void archive(Archive& ar);
};

struct FleetCounters {
  std::uint64_t commands = 0;
  std::uint64_t commands_refused = 0;
  std::uint64_t commands_repeated = 0;
  std::uint64_t peer_messages = 0;
  std::uint64_t peer_messages_refused = 0;
  void archive(Archive& ar);
};

struct Fleet {
  FleetBudget budget;
  std::unique_ptr<consensus::Ledger> ledger;  // none until the board has joined
  std::uint64_t machine_boot = 0;             // which boot of the machine the ledger lived in
  std::uint64_t program = 0;                  // which build of the agent stepped it
  bool left_fleet = false;  // drained, and its account closed: no ledger until undrained
  std::uint32_t incarnation_left = 0;
  TimeNs start_at = 0;          // a new founding waits until the old one's leases end
  bool found_at_start = false;  // whether it then takes its genesis
  TimeNs tick_at = kNever;
  bool told_fenced = true;
  std::vector<SeenCommand> seen;  // until they expire
  FleetCounters counters;
  // What is enforced now: floor plus share; kUnlimited where the budget has no budget.
  Amounts enforced{kUnlimited, kUnlimited, kUnlimited};

  Fleet() = default;
  Fleet(Fleet&&) = default;
  Fleet& operator=(Fleet&&) = default;

  [[nodiscard]] bool member() const { return budget.epoch != 0; }
  // Uses nothing above its floor, for whatever reason.
  [[nodiscard]] bool on_floor(TimeNs now) const { return !ledger || ledger->fenced(now); }
  // Drained, and on its way out of the ledger or out of it.
  [[nodiscard]] bool out() const { return left_fleet || (ledger && ledger->leaving()); }
  // On its floor because it does not hear its peers.
  [[nodiscard]] bool fenced(TimeNs now) const { return on_floor(now) && !out(); }
  void archive(Archive& ar, const FleetConfig& config, std::string_view self);
};

// How long before the ledger's fence a board lets go of its share: a trainer finishes the slice it
// was granted even when its agent hangs, and that too must end before peers take the share over.
inline constexpr int kFenceMarginPart = 4;  // at most this fraction of the lease: a quarter
[[nodiscard]] DurationNs fence_margin(DurationNs slice, DurationNs lease);

// How long a board waits before it enters the ledger when an earlier account of its name, or an
// earlier founding, may still be at work: until the lease of whoever has not heard of the change
// has ended.
inline constexpr int kEarlierLeaseMarginTicks = 4;
[[nodiscard]] DurationNs earlier_lease_wait(const FleetConfig& config);

// The names behind a ledger's numbers.
[[nodiscard]] const std::string* name_of(const FleetBudget& budget, consensus::NodeId number);
[[nodiscard]] consensus::LedgerConfig ledger_config(const FleetConfig& config,
                                                    std::uint32_t founding_epoch);
[[nodiscard]] std::shared_ptr<const consensus::NeighbourGraph> graph_of_founders(
    const FleetBudget& budget);
[[nodiscard]] std::shared_ptr<const consensus::NeighbourGraph> graph_of_members(
    const FleetBudget& budget);

}  // namespace laird::core
