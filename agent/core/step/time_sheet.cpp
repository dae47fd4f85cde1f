#include "agent/core/step/time_sheet.hpp"

#include <algorithm>

#include "agent/core/step/gate.hpp"
#include "base/require.hpp"

namespace laird::core {
namespace {

__extension__ using Wide = __int128;

static_assert(static_cast<int>(Throttler::kConfig) == static_cast<int>(CapSource::kConfig));
static_assert(static_cast<int>(Throttler::kOperator) == static_cast<int>(CapSource::kOperator));
static_assert(static_cast<int>(Throttler::kFleet) == static_cast<int>(CapSource::kFleet));
static_assert(static_cast<int>(Throttler::kTemperature) ==
              static_cast<int>(CapSource::kTemperature));

DurationNs part_of(DurationNs whole, std::uint64_t part, std::uint64_t of) {
  return static_cast<DurationNs>(static_cast<Wide>(whole) * part / of);
}

// Every stretch once: what the division leaves over is the first one's.
void add_to_rivals(TimeSheet& sheet, TimeUse use, const std::vector<TaskKey>& rivals,
                   DurationNs ns) {
  if (rivals.empty()) {
    sheet.add({use, {}, 0}, ns);
    return;
  }
  const DurationNs each = ns / static_cast<DurationNs>(rivals.size());
  sheet.add({use, {}, rivals.front()}, ns - each * static_cast<DurationNs>(rivals.size() - 1));
  for (std::size_t i = 1; i < rivals.size(); ++i) sheet.add({use, {}, rivals[i]}, each);
}

Throttled power_throttle(const State& state) {
  const CapInForce cap = state.power.in_force(state.config.power);
  auto by = static_cast<Throttler>(cap.source);
  if (by == Throttler::kFleet && state.fleet.fenced(state.now)) by = Throttler::kFenced;
  return {by, cap.mw.value_or(0)};
}

// Whose the lane's ceiling is.
Throttled ceiling_throttle(const State& state, const Lane& lane) {
  const std::uint32_t of_fleet = state.power.fleet_ceiling_ppm[lane.config.kind];
  if (lane.gate.ceiling_ppm < of_fleet) return power_throttle(state);
  return {Throttler::kFleetTime, of_fleet};
}

bool is_resting(const Lane& lane, TimeNs now) {
  return lane.running.empty() && rest_ends_at(lane.gate) > now;
}

bool has_turn(const LaneGate& gate, TaskKey key) {
  return std::any_of(gate.turn.begin(), gate.turn.end(),
                     [key](const TurnShare& part) { return part.key == key; });
}

bool is_turn_of_others(const LaneGate& gate, TaskKey key) {
  return has_turn_left(gate) && !has_turn(gate, key);
}

// Who or what keeps a ready task from its lane.
struct Wait {
  enum class Kind : std::uint8_t { kNothing, kRests, kRivals } kind = Kind::kNothing;
  const Lane* lane = nullptr;   // that rests
  std::vector<TaskKey> rivals;  // that hold the lanes
};

Wait wait_of(const State& state, const Task& task) {
  Wait out;
  bool is_free = false;
  for (const Lane& lane : state.lanes) {
    if (lane.config.kind != task.spec.lane) continue;
    if (!lane.running.empty()) {
      out.rivals.insert(out.rivals.end(), lane.running.begin(), lane.running.end());
    } else if (!is_resting(lane, state.now)) {
      is_free = true;
    } else if (is_turn_of_others(lane.gate, task.key)) {
      for (const TurnShare& part : lane.gate.turn) out.rivals.push_back(part.key);
    } else if (out.lane == nullptr) {
      out.lane = &lane;
    }
  }
  if (is_free) return {};
  out.kind = out.lane != nullptr ? Wait::Kind::kRests : Wait::Kind::kRivals;
  if (out.kind == Wait::Kind::kRests) out.rivals.clear();
  return out;
}

void add_ready(const State& state, Task& task, DurationNs ns) {
  if (is_waiting_for_peers(task, state.now)) {
    task.time_sheet.add({TimeUse::kPeers}, ns);
    return;
  }
  const Wait wait = wait_of(state, task);
  switch (wait.kind) {
    case Wait::Kind::kNothing: task.time_sheet.add({TimeUse::kPassedOver}, ns); return;
    case Wait::Kind::kRivals:
      add_to_rivals(task.time_sheet, TimeUse::kRival, wait.rivals, ns);
      return;
    case Wait::Kind::kRests: {
      const Throttled held = ceiling_throttle(state, *wait.lane);
      task.time_sheet.add_throttled(held.by, held.limit, ns);
      return;
    }
  }
}

void add_running(const State& state, Task& task, DurationNs ns) {
  const Lane& lane = state.lanes[static_cast<std::size_t>(task.lane)];
  DurationNs left = ns;
  if (lane.running.size() > 1 && task.share_ppm < kShareWholePpm) {
    std::vector<TaskKey> others = lane.running;
    std::erase(others, task.key);
    left = part_of(ns, task.share_ppm, kShareWholePpm);
    add_to_rivals(task.time_sheet, TimeUse::kRival, others, ns - left);
  }
  const std::int64_t level = other_rungs_permille(state.power.governor);
  if (level < power::kLevelFull) {
    const DurationNs ran = part_of(left, static_cast<std::uint64_t>(level),
                                   static_cast<std::uint64_t>(power::kLevelFull));
    const Throttled held = power_throttle(state);
    task.time_sheet.add_throttled(held.by, held.limit, left - ran);
    left = ran;
  }
  task.time_sheet.add({TimeUse::kRunning}, left);
}

// Of the tasks that hold memory, the one that holds most; of equals the oldest.
TaskKey largest_resident(const State& state, TaskKey but) {
  const Task* largest = nullptr;
  for (const Task& other : state.live) {
    if (other.key == but || !has_process(other.state)) continue;
    if (largest == nullptr || other.spec.memory_bytes > largest->spec.memory_bytes) {
      largest = &other;
    }
  }
  return largest == nullptr ? 0 : largest->key;
}

// A trainer that is not started: memory is short, or is being saved up for another task.
void add_queued(const State& state, Task& task, std::int64_t free_bytes, DurationNs ns) {
  if (task.spec.memory_bytes > free_bytes) {
    task.time_sheet.add({TimeUse::kMemory, {}, largest_resident(state, task.key)}, ns);
    return;
  }
  const Task* first = state.wanted.empty() ? nullptr : state.find_live(state.wanted.front());
  if (first != nullptr && first->key != task.key && first->spec.memory_bytes > free_bytes) {
    task.time_sheet.add({TimeUse::kMemory, {}, first->key}, ns);
  } else {
    task.time_sheet.add({TimeUse::kQueued}, ns);
  }
}

void add_stretch(const State& state, Task& task, std::int64_t free_bytes, DurationNs ns) {
  switch (task.state) {
    case TaskState::kQueued: add_queued(state, task, free_bytes, ns); return;
    case TaskState::kStarting:
      task.time_sheet.add({task.crashes > 0 ? crash_use(task) : TimeUse::kStarting}, ns);
      return;
    case TaskState::kReady: add_ready(state, task, ns); return;
    case TaskState::kRunning: add_running(state, task, ns); return;
    case TaskState::kPreempting: task.time_sheet.add({TimeUse::kCheckpoint}, ns); return;
    case TaskState::kEvicting:
      if (state.shutting_down) {
        task.time_sheet.add({TimeUse::kAgentDown}, ns);
      } else {
        const TaskKey other = state.wanted.empty() ? 0 : state.wanted.front();
        task.time_sheet.add({TimeUse::kMemory, {}, other}, ns);
      }
      return;
    case TaskState::kBackoff: task.time_sheet.add({crash_use(task)}, ns); return;
    case TaskState::kPausing:
    case TaskState::kPaused: task.time_sheet.add({TimeUse::kPaused}, ns); return;
    case TaskState::kFinishing: task.time_sheet.add({TimeUse::kFinishing}, ns); return;
    case TaskState::kEnded: return;
  }
}

}  // namespace

TimeUse crash_use(const Task& task) {
  return is_out_of_memory(task.time_sheet.crash) ? TimeUse::kOutOfMemory : TimeUse::kCrashed;
}

void account_time(State& state, TimeNs until, bool agent_down) {
  const DurationNs ns = until - state.now;
  const std::int64_t free_bytes = state.config.memory_bytes - state.memory_used_bytes();
  for (Task& task : state.live) {
    if (agent_down) {
      task.time_sheet.add({TimeUse::kAgentDown}, ns);
    } else if (ns > 0) {
      add_stretch(state, task, free_bytes, ns);
    }
  }
}

TimeSheet time_sheet_at(const State& state, const Task& task, TimeNs until) {
  Task later = task;
  if (until > state.now) {
    const std::int64_t free_bytes = state.config.memory_bytes - state.memory_used_bytes();
    add_stretch(state, later, free_bytes, until - state.now);
  }
  return std::move(later.time_sheet);
}

std::optional<Throttled> throttled_now(const State& state, const Task& task) {
  const Lane* lane = nullptr;
  if (task.state == TaskState::kRunning && task.lane >= 0) {
    lane = &state.lanes[static_cast<std::size_t>(task.lane)];
  } else if (task.state == TaskState::kReady && !is_waiting_for_peers(task, state.now)) {
    lane = wait_of(state, task).lane;
  }
  if (lane == nullptr) return std::nullopt;
  const std::int64_t others = other_rungs_permille(state.power.governor);
  const std::uint64_t left_ppm = static_cast<std::uint64_t>(lane->gate.ceiling_ppm) *
                                 static_cast<std::uint64_t>(others) /
                                 static_cast<std::uint64_t>(power::kLevelFull);
  if (left_ppm >= kThrottledBelowPpm) return std::nullopt;
  return lane->gate.ceiling_ppm < kShareWholePpm ? ceiling_throttle(state, *lane)
                                                 : power_throttle(state);
}

}  // namespace laird::core
