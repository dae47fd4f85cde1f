// The Stepper's side of the step gate: which lanes are wanted, the ceiling they get, and the turns
// of a policy's slice that is handed out in pieces (agent/core/step/gate.hpp).
#include <algorithm>
#include <array>

#include "agent/core/step/gate.hpp"
#include "agent/core/step/stepper.hpp"
#include "power/model/power_gate.hpp"

namespace laird::core {
namespace {

constexpr std::int64_t kPermille = power::kLevelFull;
constexpr std::uint32_t kPpmPerPermille = kShareWholePpm / 1000;

}  // namespace

std::uint32_t Stepper::quota_of(const Lane& lane, std::uint32_t share_ppm) const {
  return quota_milli(lane.config.cores_milli, share_ppm,
                     s_.power.governor.level(power::Rung::kCpuQuota));
}

bool Stepper::is_wanted(const Lane& lane) const {
  if (!lane.running.empty()) return true;
  return std::any_of(s_.live.begin(), s_.live.end(), [this, &lane](const Task& task) {
    return task.state == TaskState::kReady && !is_waiting(task) &&
           task.spec.lane == lane.config.kind;
  });
}

// The lane's part of what its kind of lane draws: by cores, as several lanes share one processor.
std::int64_t Stepper::part_of_kind_permille(const Lane& lane) const {
  std::int64_t all = 0;
  for (const Lane& other : s_.lanes) {
    if (other.config.kind == lane.config.kind) all += other.config.cores_milli;
  }
  return all <= 0 ? kPermille : kPermille * lane.config.cores_milli / all;
}

void Stepper::update_ceilings() {
  const PowerState& p = s_.power;
  const std::int32_t level = p.governor.level(power::Rung::kStepGate);
  const std::int64_t full_mw = s_.config.power.governor.dynamic_mw;
  std::array<power::LaneDemand, kLanesMax> demands;
  if (level < power::kLevelFull) {
    for (std::size_t i = 0; i < s_.lanes.size(); ++i) {
      const Lane& lane = s_.lanes[i];
      const bool gpu = lane.config.kind == LaneKind::kGpu;
      const std::int64_t kind_mw =
          gpu ? p.weights.gpu_part_mw(full_mw) : p.weights.cpu_part_mw(full_mw);
      const std::uint32_t allowed = p.fleet_ceiling_ppm[lane.config.kind] / kPpmPerPermille;
      demands[i] = {kind_mw * part_of_kind_permille(lane) / kPermille,
                    is_wanted(lane) ? static_cast<std::int32_t>(allowed) : 0};
    }
  }
  const std::int32_t ceiling =
      power::ceiling_at_level(std::span(demands).first(s_.lanes.size()), full_mw, level);
  for (Lane& lane : s_.lanes) {
    const std::uint32_t before = lane.gate.ceiling_ppm;
    lane.gate.ceiling_ppm = std::min(p.fleet_ceiling_ppm[lane.config.kind],
                                     static_cast<std::uint32_t>(ceiling) * kPpmPerPermille);
    if (before < kShareWholePpm || lane.gate.ceiling_ppm == kShareWholePpm) continue;
    if (lane.running.empty()) continue;
    // A grant from before the ceiling counts from now on, and is cut short if it is a long one.
    const DurationNs piece = piece_of(lane.gate, lane.slice);
    lane.gate.busy_from = s_.now;
    lane.slice = piece;
    lane.slice_ends_at = std::min(lane.slice_ends_at, s_.now + piece);
  }
}

void Stepper::note_held_back() {
  bool held = false;
  bool busy = false;
  for (Lane& lane : s_.lanes) {
    const bool wanted = is_wanted(lane);
    if (!wanted) lane.gate.wanted_since = false;
    const std::uint32_t allowed = s_.power.fleet_ceiling_ppm[lane.config.kind];
    held = held || (wanted && lane.gate.ceiling_ppm < allowed);
    busy = busy || !lane.running.empty();
  }
  held = held || (busy && other_rungs_permille(s_.power.governor) < kPermille);
  TimeNs& since = s_.power.held_since;
  since = !held ? kNever : std::min(since, s_.now);
}

// Hands out the next piece of a slice the policy has given already. False: it has to be asked.
bool Stepper::continue_turn(std::uint32_t index) {
  Lane& lane = s_.lanes[index];
  LaneGate& gate = lane.gate;
  const bool goes_on =
      has_turn_left(gate) &&
      std::all_of(gate.turn.begin(), gate.turn.end(), [this](const TurnShare& part) {
        const Task* task = s_.find_live(part.key);
        return task != nullptr && task->state == TaskState::kReady && !is_waiting(*task);
      });
  if (!goes_on) {
    gate.turn.clear();
    return false;
  }
  const DurationNs piece = piece_of(gate, gate.turn_left);
  for (const TurnShare& part : gate.turn) {
    Task& task = *s_.find_live(part.key);
    if (task.spec.lane != lane.config.kind) continue;
    grant(index, task, part.share_ppm, piece);
  }
  return !lane.running.empty();
}

}  // namespace laird::core
