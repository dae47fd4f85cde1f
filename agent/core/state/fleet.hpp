// A board's place in its fleet: the budget all boards share, the ledger that divides the budget,
// and the operators' commands already carried out.
//
// Every member has a floor of each resource, which is reserved for it whatever happens. The share
// ledger (consensus/ledger/ledger.hpp, docs/ledger.md) divides what the budget leaves above all the
// floors. A board that is cut off, fenced, or has not joined yet may use its floor and nothing
// else. Invariant: what all boards enforce together never exceeds the budget.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/limits.hpp"
#include "base/archive.hpp"
#include "base/enum_array.hpp"
#include "base/error.hpp"
#include "base/part.hpp"
#include "base/time.hpp"
#include "consensus/ledger/ledger.hpp"
#include "consensus/titles/desk.hpp"

namespace laird::core {

// The resources in the ledger's order. Their amounts are counted in thousandths of a core,
// millionths of a gpu, and milliwatts.
enum class Resource : std::uint8_t { kCpu, kGpu, kPower };
inline constexpr std::size_t kResources = consensus::kResources;
using Amounts = EnumArray<Resource, std::int64_t, kResources>;
inline constexpr std::int64_t kUnlimited = -1;

[[nodiscard]] std::string_view name(Resource resource);

struct FleetMember {
  std::string id;
  Amounts floor{};
  bool operator==(const FleetMember&) const = default;
  void archive(Archive& ar);
};

// What the operators have set for the fleet. It is the same on every board: the higher revision
// wins.
struct FleetBudget {
  std::uint64_t rev = 0;             // 0: from the config file
  std::uint32_t founding_epoch = 0;  // 0: no fleet
  std::vector<std::string> founders;
  std::vector<FleetMember> members;  // ascending by id
  Amounts total{kUnlimited, kUnlimited, kUnlimited};
  // A power budget that replaces the lasting one until a wall-clock time.
  std::int64_t power_mw_for_now = kUnlimited;
  TimeNs power_for_now_until_wall = 0;

  bool operator==(const FleetBudget&) const = default;
  [[nodiscard]] const FleetMember* member(std::string_view id) const;
  // The budget at that wall-clock time; kUnlimited where there is none.
  [[nodiscard]] std::int64_t budget_at(Resource resource, TimeNs wall_ns) const;
  // What the ledger divides: the budget less all floors, at least zero.
  [[nodiscard]] std::int64_t divided_at(Resource resource, TimeNs wall_ns) const;
  void archive(Archive& ar);
};

// Checks a budget from a file, an operator or a journal, and says what is wrong with it.
[[nodiscard]] Status check_fleet_budget(const FleetBudget& budget);
// The number by which the ledger knows a board. A budget in which two names have the same number is
// refused.
[[nodiscard]] consensus::NodeId node_number(std::string_view id);

struct FleetConfig {
  FleetBudget budget;  // founding epoch 0: the board is alone
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
  PartPtr<consensus::Ledger> ledger;  // none until the board has joined
  std::uint64_t machine_boot = 0;     // which boot of the machine the ledger lived in
  std::uint64_t program = 0;          // which build of the agent stepped it
  bool left_fleet = false;  // drained, and its account is closed: no ledger until it is undrained
  std::uint32_t incarnation_left = 0;  // of the account that was closed
  TimeNs start_at = 0;  // the board joins no earlier: leases of an earlier founding must end
  bool found_at_start = false;  // whether it then takes a founder's equal share
  TimeNs tick_at = kNever;      // the ledger's next tick
  bool told_fenced = true;      // what the last notice on the fence said
  // Operators' commands that were carried out. A wall clock may go back, so a command that was
  // forgotten because it had expired may seem fresh again. Invariant: a command that was carried
  // out is in `seen`, or expires no later than `forgotten_until_wall`; neither is done again.
  std::vector<SeenCommand> seen;
  TimeNs forgotten_until_wall = 0;
  FleetCounters counters;
  // What is enforced now: the floor plus the share; kUnlimited where there is no budget.
  Amounts enforced{kUnlimited, kUnlimited, kUnlimited};
  // Of tasks that may move; kept while the board is in no fleet, since what it gave away stays
  // given.
  PartPtr<consensus::TitleDesk> titles;
  std::uint64_t title_messages_refused = 0;

  Fleet() = default;
  Fleet(Fleet&&) = default;
  Fleet& operator=(Fleet&&) = default;

  [[nodiscard]] bool member() const { return budget.founding_epoch != 0; }
  // Whether the board may use nothing above its floor, for whatever reason.
  [[nodiscard]] bool on_floor(TimeNs now) const { return !ledger || ledger->fenced(now); }
  // Whether the drained board is leaving the ledger or has left it.
  [[nodiscard]] bool out() const { return left_fleet || (ledger && ledger->leaving()); }
  // Whether the board may use only its floor because its peers do not acknowledge its messages.
  [[nodiscard]] bool fenced(TimeNs now) const { return on_floor(now) && !out(); }
  [[nodiscard]] bool knows_command(std::string_view id) const;
  // Forgets expired commands, those that expired first, and keeps the last kCommandsKept.
  void forget_commands(TimeNs wall_ns);
  void archive(Archive& ar, const FleetConfig& config, std::string_view self);
};

// How long before the ledger's fence a board gives up its share. A trainer finishes the slice it
// was granted even when its agent hangs, and that slice too must end before peers take the share
// over.
inline constexpr int kFenceMarginPart = 4;  // at most this fraction of the lease: a quarter
[[nodiscard]] DurationNs fence_margin(DurationNs slice, DurationNs lease);

// How long a board waits before it enters the ledger when an earlier account of its name, or an
// earlier founding, may still be at work: until the lease of whoever has not heard of the change
// has ended.
inline constexpr int kEarlierLeaseMarginTicks = 4;
[[nodiscard]] DurationNs earlier_lease_wait(const FleetConfig& config);

// The name of the board with that number in the ledger; nullptr: no member or founder has it.
[[nodiscard]] const std::string* name_of(const FleetBudget& budget, consensus::NodeId number);
[[nodiscard]] consensus::LedgerConfig ledger_config(const FleetConfig& config,
                                                    std::uint32_t founding_epoch);
[[nodiscard]] std::shared_ptr<const consensus::NeighbourGraph> graph_of_founders(
    const FleetBudget& budget);
[[nodiscard]] std::shared_ptr<const consensus::NeighbourGraph> graph_of_members(
    const FleetBudget& budget);

}  // namespace laird::core
