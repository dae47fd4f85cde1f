// The steps of a board in its fleet: it joins and leaves, runs the ledger's ticks, enforces the
// shares, and carries out the operators' commands. The ledger itself is in consensus/ledger;
// docs/ledger.md explains it.
#include <algorithm>
#include <utility>

#include "agent/core/step/fleet_need.hpp"
#include "agent/core/step/stepper.hpp"
#include "base/require.hpp"
#include "consensus/codec.hpp"

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

// Incarnations must grow even when a board has lost its journal, so they count seconds from here.
constexpr TimeNs kIncarnationsBegin = 1'577'836'800LL * kSecond;  // 2020-01-01

std::uint32_t incarnation_at(TimeNs wall_ns) {
  const TimeNs seconds = (wall_ns - kIncarnationsBegin) / kSecond;
  return static_cast<std::uint32_t>(
      std::clamp<TimeNs>(seconds, 2, static_cast<TimeNs>(consensus::kIncarnationOfClockMax)));
}

}  // namespace

// A ledger goes on after a restart only within one boot of the machine and one build of the agent.
// - Its numbers are written to the journal before they are sent. A crash of the agent cannot undo
// the
//   write, but a power cut can; and after a power cut no clock tells how long the board was away.
// - What was sent follows from the journalled events only for the build that sent it: another build
//   may compute other grants.
void Stepper::boot_fleet(const Booted& e) {
  Fleet& fleet = s_.fleet;
  const FleetBudget& given = e.config.fleet.budget;
  const bool newer = given.founding_epoch > fleet.budget.founding_epoch ||
                     given.founding_epoch == 0 ||
                     (fleet.budget.rev == 0 && given.founding_epoch == fleet.budget.founding_epoch);
  const bool other_epoch = newer && given.founding_epoch != fleet.budget.founding_epoch;
  const bool goes_on =
      e.machine_boot != 0 && e.machine_boot == fleet.machine_boot && e.program == fleet.program;
  if (newer) fleet.budget = given;
  fleet.machine_boot = e.machine_boot;
  fleet.program = e.program;
  fleet.tick_at = kNever;
  fleet.told_fenced = true;
  if (!fleet.member()) {
    // The board may have been in a fleet before this start.
    fleet.enforced = {kUnlimited, kUnlimited, kUnlimited};
    apply_shares();
  }
  if (other_epoch) {
    fleet.ledger.reset();
    fleet.left_fleet = false;
    fleet.start_at = 0;
  }
  if (fleet.ledger == nullptr) return;
  if (fleet.budget.member(s_.config.node) == nullptr) {
    fleet.ledger.reset();
    return;
  }
  if (!goes_on) {
    begin_again(fleet.ledger->account().incarnation);
    return;
  }
  fleet.ledger->attach(graph_of_founders(fleet.budget), graph_of_members(fleet.budget));
  fleet.tick_at = s_.now;
}

void Stepper::begin_ledger(std::uint32_t incarnation) {
  Fleet& fleet = s_.fleet;
  fleet.ledger = std::make_unique<consensus::Ledger>(
      ledger_config(s_.config.fleet, fleet.budget.founding_epoch), node_number(s_.config.node),
      incarnation, graph_of_founders(fleet.budget), graph_of_members(fleet.budget), s_.now);
  fleet.tick_at = s_.now;
}

// Begins a new account of this board, which holds nothing.
void Stepper::begin_again(std::uint32_t last) {
  const std::uint32_t next = std::min(last, consensus::kIncarnationMax - 1) + 1;
  begin_ledger(std::max(next, incarnation_at(wall_now())));
}

// Only a founder that was never seen before starts with a founder's equal share. Every other board
// starts with nothing, and its peers grant it a share.
void Stepper::found_or_join(bool seen_before) {
  Fleet& fleet = s_.fleet;
  const std::vector<std::string>& founders = fleet.budget.founders;
  const bool founder =
      std::find(founders.begin(), founders.end(), s_.config.node) != founders.end();
  begin_ledger(founder && !seen_before ? 1 : incarnation_at(wall_now()));
}

void Stepper::on(const FleetJoined& e) {
  Fleet& fleet = s_.fleet;
  if (fleet.ledger || fleet.left_fleet || fleet.budget.member(s_.config.node) == nullptr) return;
  fleet.found_at_start = !e.seen_before;
  // The broker has seen a board of this name, and this journal knows nothing of that board's share.
  // The earlier agent may use its share until its lease ends, while the register takes the next
  // account of that name for its successor. So wait until the lease has ended.
  if (e.seen_before) {
    fleet.start_at = std::max(fleet.start_at, s_.now + earlier_lease_wait(s_.config.fleet));
  }
  if (s_.now < fleet.start_at) {
    fleet.tick_at = fleet.start_at;
    return;
  }
  found_or_join(e.seen_before);
}

void Stepper::on(const Displaced&) {
  s_.fleet.ledger.reset();
  s_.fleet.tick_at = kNever;
}

void Stepper::adopt_budget(const FleetBudget& budget) {
  Fleet& fleet = s_.fleet;
  const bool other_epoch = budget.founding_epoch != fleet.budget.founding_epoch;
  fleet.budget = budget;
  const bool in = budget.member(s_.config.node) != nullptr;
  if (other_epoch || !in) {
    // A board that has not heard of the new founding is fenced once its lease ends. Wait for that.
    const bool had_ledger = fleet.ledger != nullptr || fleet.left_fleet;
    fleet.ledger.reset();
    fleet.left_fleet = false;
    fleet.found_at_start = true;
    fleet.start_at = s_.now + earlier_lease_wait(s_.config.fleet);
    fleet.tick_at = in && (had_ledger || fleet.tick_at != kNever) ? fleet.start_at : kNever;
    return;
  }
  if (fleet.ledger) fleet.ledger->set_members(graph_of_members(budget));
}

void Stepper::on(const BudgetChanged& e) {
  Fleet& fleet = s_.fleet;
  if (!fleet.member()) {
    refuse(e.request, Code::kRefused, "this board is in no fleet; see \"fleet\" in its config");
    return;
  }
  if (e.budget.founding_epoch < fleet.budget.founding_epoch ||
      (e.budget.founding_epoch == fleet.budget.founding_epoch && e.budget.rev < fleet.budget.rev)) {
    refuse(e.request, Code::kRefused,
           "the budget is older than revision " + std::to_string(fleet.budget.rev) + " in force");
    return;
  }
  if (e.budget == fleet.budget) {
    answer(e.request, 0, "in force already");
    return;
  }
  if (e.budget.founding_epoch == fleet.budget.founding_epoch && e.budget.rev == fleet.budget.rev) {
    refuse(e.request, Code::kExists,
           "another budget has revision " + std::to_string(e.budget.rev) + "; raise it");
    return;
  }
  if (e.budget.founding_epoch == fleet.budget.founding_epoch &&
      e.budget.founders != fleet.budget.founders) {
    refuse(e.request, Code::kRefused, "the founders of an epoch never change; raise the epoch");
    return;
  }
  adopt_budget(e.budget);
  out_.push_back(
      {Notice{NoticeKind::kPlan, "budget " + std::to_string(e.budget.rev) + " in force"}});
  answer(e.request, 0, "budget " + std::to_string(e.budget.rev) + " in force");
}

void Stepper::on(const DrainRequested& e) {
  if (s_.draining == e.drain) {
    answer(e.request, 0, e.drain ? "draining already" : "not draining");
    return;
  }
  s_.draining = e.drain;
  if (!e.drain) come_back();
  const std::string text =
      e.drain ? "draining: takes no new tasks, finishes what it has" : "takes tasks again";
  out_.push_back({Notice{NoticeKind::kDrain, text}});
  answer(e.request, 0, text);
}

// A drained board that has finished its tasks hands over its share and its seat among the keepers
// of the register, and closes its account. Then it can be switched off, alone or with many others,
// and nobody waits for its lease or its vote.
void Stepper::leave_fleet() {
  Fleet& fleet = s_.fleet;
  if (!s_.draining || !s_.live.empty()) return;
  // A task that is over is over once its backup knows.
  const auto& titles = std::as_const(fleet.titles);
  if (titles && !titles->titles().held().empty()) return;
  if (!fleet.ledger->leaving() && fleet.ledger->entered()) fleet.ledger->leave();
  if (!fleet.ledger->left()) return;
  fleet.incarnation_left = fleet.ledger->account().incarnation;
  fleet.left_fleet = true;
  fleet.ledger.reset();
  fleet.tick_at = kNever;
  out_.push_back(
      {Notice{NoticeKind::kDrain, "drained: nothing is left here, it can be switched off"}});
}

void Stepper::come_back() {
  Fleet& fleet = s_.fleet;
  if (!fleet.out()) return;
  const std::uint32_t last =
      fleet.left_fleet ? fleet.incarnation_left : fleet.ledger->account().incarnation;
  fleet.left_fleet = false;
  begin_again(last);
}

void Stepper::on(const PeersHeard& e) {
  Fleet& fleet = s_.fleet;
  consensus::Out out;
  for (const PeerMessage& m : e.messages) {
    ++fleet.counters.peer_messages;
    const Result<consensus::Message> message = consensus::decode(m.bytes);
    // Founders that are no members (any more) are heard too: they may have an edge to close.
    const consensus::NodeId from = node_number(m.from);
    const bool known = name_of(fleet.budget, from) != nullptr;
    if (!message || !fleet.ledger || !known) {
      ++fleet.counters.peer_messages_refused;
      if (known && fleet.ledger) note_wire_version(m);
      continue;
    }
    fleet.ledger->on_message(from, *message, s_.now, out);
  }
  send(out);
}

// Boards of two wire versions do not understand each other and stay on their floors. An operator is
// told once for each peer and version.
void Stepper::note_wire_version(const PeerMessage& m) {
  const std::optional<std::uint8_t> version = consensus::other_wire_version(m.bytes);
  if (!version || !s_.fleet.ledger->note_other_wire(node_number(m.from), *version)) return;
  const bool older = *version < consensus::kWireVersion;
  out_.push_back({Notice{NoticeKind::kWire, "board " + m.from + " speaks wire version " +
                                                std::to_string(*version) + ", this board " +
                                                std::to_string(consensus::kWireVersion) +
                                                ": upgrade " + (older ? m.from : "this board")}});
}

void Stepper::send(const consensus::Out& out) {
  for (const consensus::Outgoing& o : out.messages) {
    const std::string* to = name_of(s_.fleet.budget, o.to);
    if (to == nullptr) continue;
    Bytes bytes;
    consensus::encode(o.message, bytes);
    // Only registers of very large fleets are longer than a broker's message may be. Such a message
    // counts as lost, and is counted.
    if (bytes.size() > kPeerMessageBytesMax) {
      ++s_.fleet.counters.peer_messages_refused;
      continue;
    }
    out_.push_back({SendToPeer{*to, std::string(bytes.begin(), bytes.end())}});
  }
}

void Stepper::on(const OperatorCommand& e) {
  Fleet& fleet = s_.fleet;
  const TimeNs wall = wall_now();
  fleet.forget_commands(wall);
  if (e.expires_wall < wall) {
    ++fleet.counters.commands_refused;
    refuse(e.request, Code::kRefused, "the command has expired");
    return;
  }
  if (fleet.knows_command(e.id)) {
    ++fleet.counters.commands_repeated;
    out_.push_back({Answer{e.request, true, Code::kInvalid, 0, "done before", true}});
    return;
  }
  if (e.expires_wall <= fleet.forgotten_until_wall) {
    ++fleet.counters.commands_refused;
    refuse(e.request, Code::kRefused,
           "it may have been done before: commands that expire within the next " +
               std::to_string((fleet.forgotten_until_wall - wall) / kSecond + 1) +
               " s are forgotten here, because this board's clock was set back; set the clock, "
               "then send the command anew");
    return;
  }
  if (fleet.seen.size() >= kCommandsSeenMax) {
    ++fleet.counters.commands_refused;
    refuse(e.request, Code::kFull, "too many commands at once; wait until some have expired");
    return;
  }
  ++fleet.counters.commands;
  fleet.seen.push_back({e.id, e.expires_wall});
  by_ = e.by;
  std::visit([this](const auto& body) { on(body); }, e.body);
}

void Stepper::on(const CommandRefused& e) {
  ++s_.fleet.counters.commands_refused;
  out_.push_back(
      {Notice{NoticeKind::kRefusedCommand, clipped(e.verb + " by " + e.by + ": " + e.why)}});
}

void Stepper::on(const ConfigRequested& e) {
  answer(e.request, 0, "noted");
  out_.push_back({Notice{NoticeKind::kConfig, clipped(e.what)}});
}

void Stepper::on(const ConfigNoted& e) {
  out_.push_back({Notice{NoticeKind::kConfig, clipped(e.text)}});
}

void Stepper::fleet_tick() {
  Fleet& fleet = s_.fleet;
  if (s_.now >= fleet.tick_at) {
    if (!fleet.ledger) {
      found_or_join(!fleet.found_at_start);
    }
    for (std::size_t r = 0; r < kResources; ++r) {
      fleet.ledger->set_demand(r, demand_of(s_, static_cast<Resource>(r)));
    }
    consensus::Out out;
    fleet.ledger->on_tick(s_.now, out);
    send(out);
    titles_tick();
    leave_fleet();
    if (fleet.ledger) set_fleet_tick();
  }
  enforce_shares();
}

// A late tick is not made up for: the next tick follows a whole interval after it.
void Stepper::set_fleet_tick() {
  Fleet& fleet = s_.fleet;
  fleet.tick_at = std::max(fleet.tick_at + s_.config.fleet.tick, s_.now + 1);
  if (fleet.tick_at - s_.now < s_.config.fleet.tick / 2) {
    fleet.tick_at = s_.now + s_.config.fleet.tick;
  }
}

void Stepper::enforce_shares() {
  Fleet& fleet = s_.fleet;
  if (!fleet.member()) return;
  const TimeNs until = s_.now + fence_margin(s_.config.slice, s_.config.fleet.lease);
  const bool on_floor = fleet.on_floor(until);
  const bool fenced = on_floor && !fleet.out();
  const consensus::Shares shares =
      on_floor ? consensus::Shares{} : std::as_const(fleet.ledger)->effective(s_.now);
  const FleetMember* self = fleet.budget.member(s_.config.node);
  for (std::size_t r = 0; r < kResources; ++r) {
    const std::int64_t divided = fleet.budget.divided_at(static_cast<Resource>(r), wall_now());
    if (divided == kUnlimited) {
      fleet.enforced[r] = kUnlimited;
      continue;
    }
    const std::int64_t floor = self == nullptr ? 0 : self->floor[r];
    fleet.enforced[r] = floor + static_cast<std::int64_t>(static_cast<Wide>(divided) * shares[r] /
                                                          consensus::kWhole);
  }
  apply_shares();
  if (fenced != fleet.told_fenced && !fleet.out()) {
    fleet.told_fenced = fenced;
    out_.push_back({Notice{fenced ? NoticeKind::kFenced : NoticeKind::kUnfenced,
                           fenced ? "no word from peers: only the floor is used"
                                  : "shares agreed with peers are in use"}});
  }
}

// The power share becomes a cap of the governor; the cpu and gpu shares limit the time of the lanes
// that have something to run. That works on every board, with or without control groups.
void Stepper::apply_shares() {
  const Amounts& enforced = s_.fleet.enforced;
  const std::int64_t power_mw = enforced[Resource::kPower];
  s_.power.set_fleet_cap_mw(power_mw == kUnlimited
                                ? std::nullopt
                                : std::optional(std::clamp<std::int64_t>(power_mw, 1, kCapMwMax)));
  Amounts whole{};
  const bool idle = std::none_of(s_.lanes.begin(), s_.lanes.end(),
                                 [this](const Lane& lane) { return is_wanted(lane); });
  for (const Lane& lane : s_.lanes) {
    if (!idle && !is_wanted(lane)) continue;
    whole[Resource::kCpu] += lane.config.cores_milli;
    if (lane.config.kind == LaneKind::kGpu) whole[Resource::kGpu] += 1'000'000;
  }
  const auto ceiling = [&](Resource resource) -> std::uint32_t {
    const std::int64_t have = enforced[resource];
    if (have == kUnlimited || have >= whole[resource]) return kShareWholePpm;
    return static_cast<std::uint32_t>(static_cast<Wide>(have) * kShareWholePpm / whole[resource]);
  };
  const std::uint32_t cpu = ceiling(Resource::kCpu);
  s_.power.set_fleet_ceiling_ppm(LaneKind::kCpu, cpu);
  s_.power.set_fleet_ceiling_ppm(LaneKind::kGpu, std::min(cpu, ceiling(Resource::kGpu)));
}

}  // namespace laird::core
