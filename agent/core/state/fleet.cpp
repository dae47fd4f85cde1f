#include "agent/core/state/fleet.hpp"

#include <algorithm>

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

// The waits of the ledger at the shortest lease the settings allow (consensus/timing.hpp).
constexpr DurationNs kShortestLease = kLeaseTicksMin * kSecond;
constexpr DurationNs kShortestSilence = consensus::silence_limit(kShortestLease, kSecond);
static_assert(kLeaseTicksMin >= consensus::kLedgerLeaseTicksMin, "the ledger accepts every lease");
static_assert(kShortestSilence + consensus::kSettlementTicks * kSecond <=
                  kShortestLease + consensus::kSettlementSlackTicks * kSecond,
              "a dead board is settled within the lease and the slack on every lease");
static_assert(consensus::kUnresponsiveTicks * kSecond <=
                  consensus::suspicion_lead(kShortestSilence, kSecond) +
                      consensus::kGatherTicks * kSecond,
              "a version waits long enough for the keepers to know who is unresponsive");
static_assert(kShortestLease / kFenceMarginPart <
                  consensus::fence_age(kShortestSilence, kSecond,
                                       consensus::LedgerConfig{}.drift_ppm),
              "a board that lets go of its share early still has time to use it");

}  // namespace

std::string_view name(Resource resource) {
  switch (resource) {
    case Resource::kCpu: return "cpu";
    case Resource::kGpu: return "gpu";
    case Resource::kPower: return "power";
  }
  return "?";
}

void FleetMember::archive(Archive& ar) {
  ar.text(id, kNameBytesMax);
  ar(floor);
}

void FleetBudget::archive(Archive& ar) {
  ar(rev);
  ar(founding_epoch);
  ar.sequence(founders, kMembersMax);
  ar.sequence(members, kMembersMax);
  ar(total);
  ar(power_mw_for_now, power_for_now_until_wall);
}

void FleetConfig::archive(Archive& ar) {
  ar(budget);
  ar(tick);
  ar(lease);
}

void SeenCommand::archive(Archive& ar) {
  ar.text(id, kCommandIdBytesMax);
  ar(expires_wall);
}

void FleetCounters::archive(Archive& ar) {
  ar(commands, commands_refused, commands_repeated, peer_messages, peer_messages_refused);
}

const FleetMember* FleetBudget::member(std::string_view id) const {
  const auto at =
      std::lower_bound(members.begin(), members.end(), id,
                       [](const FleetMember& m, std::string_view i) { return m.id < i; });
  return at != members.end() && at->id == id ? &*at : nullptr;
}

std::int64_t FleetBudget::budget_at(Resource resource, TimeNs wall_ns) const {
  if (resource == Resource::kPower && power_mw_for_now != kUnlimited &&
      wall_ns < power_for_now_until_wall) {
    return power_mw_for_now;
  }
  return total[resource];
}

std::int64_t FleetBudget::divided_at(Resource resource, TimeNs wall_ns) const {
  const std::int64_t whole = budget_at(resource, wall_ns);
  if (whole == kUnlimited) return kUnlimited;
  Wide floors = 0;
  for (const FleetMember& m : members) floors += m.floor[resource];
  return whole > floors ? static_cast<std::int64_t>(whole - floors) : 0;
}

consensus::NodeId node_number(std::string_view id) {
  const std::uint64_t digest = digest_of(id);
  return static_cast<consensus::NodeId>(digest ^ (digest >> 32));
}

const std::string* name_of(const FleetBudget& budget, consensus::NodeId number) {
  for (const FleetMember& m : budget.members) {
    if (node_number(m.id) == number) return &m.id;
  }
  for (const std::string& id : budget.founders) {
    if (node_number(id) == number) return &id;
  }
  return nullptr;
}

Status check_fleet_budget(const FleetBudget& budget) {
  if (budget.founding_epoch == 0) return {};
  if (budget.founders.empty() || budget.members.empty() || budget.founders.size() > kMembersMax ||
      budget.members.size() > kMembersMax) {
    return fail(Code::kInvalid,
                "a fleet has 1 to " + std::to_string(kMembersMax) + " founders and members");
  }
  std::vector<std::pair<consensus::NodeId, std::string_view>> numbers;
  for (const std::string& id : budget.founders) numbers.emplace_back(node_number(id), id);
  for (std::size_t i = 0; i < budget.members.size(); ++i) {
    const FleetMember& m = budget.members[i];
    if (i > 0 && budget.members[i - 1].id >= m.id) {
      return fail(Code::kInvalid, "members must be in order, each once: see '" + m.id + "'");
    }
    for (const std::int64_t amount : m.floor) {
      if (amount < 0 || amount > kAmountMax) {
        return fail(Code::kInvalid, "the floor of '" + m.id + "' is out of range");
      }
    }
    numbers.emplace_back(node_number(m.id), m.id);
  }
  for (const auto& [number, id] : numbers) {
    if (id.empty() || id.size() > kNameBytesMax) {
      return fail(Code::kInvalid, "a board's id has 1 to 32 characters");
    }
  }
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i - 1].first == numbers[i].first && numbers[i - 1].second != numbers[i].second) {
      return fail(Code::kInvalid, "'" + std::string(numbers[i - 1].second) + "' and '" +
                                      std::string(numbers[i].second) +
                                      "' have the same number in the ledger; rename one");
    }
  }
  for (const std::int64_t amount : budget.total) {
    if (amount < kUnlimited || amount > kAmountMax) {
      return fail(Code::kInvalid, "the budget is out of range");
    }
  }
  if (budget.power_mw_for_now < kUnlimited || budget.power_mw_for_now > kAmountMax ||
      budget.power_for_now_until_wall < 0 || budget.power_for_now_until_wall > kTimeMax) {
    return fail(Code::kInvalid, "the power budget for now is out of range");
  }
  // Every member is promised its floor, so no budget may be smaller than all floors together.
  for (std::size_t r = 0; r < kResources; ++r) {
    Wide floors = 0;
    for (const FleetMember& m : budget.members) floors += m.floor[r];
    const bool short_now = r == static_cast<std::size_t>(Resource::kPower) &&
                           budget.power_mw_for_now != kUnlimited &&
                           budget.power_mw_for_now < floors;
    if ((budget.total[r] != kUnlimited && budget.total[r] < floors) || short_now) {
      return fail(Code::kInvalid,
                  "the " + std::string(name(static_cast<Resource>(r))) +
                      " budget is below the floors of the members, which add up to " +
                      std::to_string(static_cast<std::int64_t>(floors)) +
                      (r == 2   ? " mW"
                       : r == 0 ? " thousandths of a core"
                                : " millionths"));
    }
  }
  return {};
}

DurationNs fence_margin(DurationNs slice, DurationNs lease) {
  return std::min(slice, lease / kFenceMarginPart);
}

DurationNs earlier_lease_wait(const FleetConfig& config) {
  return config.lease + kEarlierLeaseMarginTicks * config.tick;
}

consensus::LedgerConfig ledger_config(const FleetConfig& config, std::uint32_t founding_epoch) {
  consensus::LedgerConfig out;
  out.founding_epoch = founding_epoch;
  out.tick = config.tick;
  out.lease = config.lease;
  return out;
}

namespace {

std::shared_ptr<const consensus::NeighbourGraph> graph_of(std::vector<consensus::NodeId> nodes) {
  return std::make_shared<const consensus::NeighbourGraph>(std::move(nodes));
}

}  // namespace

std::shared_ptr<const consensus::NeighbourGraph> graph_of_founders(const FleetBudget& budget) {
  std::vector<consensus::NodeId> nodes;
  for (const std::string& id : budget.founders) nodes.push_back(node_number(id));
  return graph_of(std::move(nodes));
}

std::shared_ptr<const consensus::NeighbourGraph> graph_of_members(const FleetBudget& budget) {
  std::vector<consensus::NodeId> nodes;
  for (const FleetMember& m : budget.members) nodes.push_back(node_number(m.id));
  return graph_of(std::move(nodes));
}

bool Fleet::knows_command(std::string_view id) const {
  return std::any_of(seen.begin(), seen.end(),
                     [id](const SeenCommand& command) { return command.id == id; });
}

void Fleet::forget_commands(TimeNs wall_ns) {
  while (seen.size() >= kCommandsKept) {
    const auto first = std::min_element(
        seen.begin(), seen.end(),
        [](const SeenCommand& a, const SeenCommand& b) { return a.expires_wall < b.expires_wall; });
    if (first->expires_wall >= wall_ns) return;
    forgotten_until_wall = std::max(forgotten_until_wall, first->expires_wall);
    seen.erase(first);
  }
}

void Fleet::archive(Archive& ar, const FleetConfig& config, std::string_view self) {
  ar(budget);
  ar(machine_boot);
  ar(start_at);
  ar(found_at_start);
  ar(tick_at);
  ar(told_fenced);
  ar.sequence(seen, kCommandsSeenMax);
  ar(counters);
  ar(enforced);
  bool joined = ledger != nullptr;
  ar(joined);
  if (ar.failed()) return;
  if (ar.reading()) {
    ledger.reset();
    if (joined) {
      if (budget.founding_epoch == 0 || !check_fleet_budget(budget)) {
        ar.fail();
        return;
      }
      ledger = std::make_unique<consensus::Ledger>(ledger_config(config, budget.founding_epoch),
                                                   node_number(self), 2, graph_of_founders(budget),
                                                   graph_of_members(budget), 0);
    }
  }
  if (ledger) ar(ledger);
  if (!ar.since(3)) return;
  ar(program);
  ar(left_fleet);
  ar(incarnation_left);
  if (!ar.since(4)) return;
  ar(forgotten_until_wall);
  if (!ar.since(7)) return;
  bool has_titles = titles != nullptr;
  ar(has_titles);
  if (ar.failed()) return;
  if (ar.reading()) {
    titles.reset();
    if (has_titles) titles = std::make_unique<consensus::TitleDesk>();
  }
  if (titles) ar(titles);
  ar(title_messages_refused);
}

}  // namespace laird::core
