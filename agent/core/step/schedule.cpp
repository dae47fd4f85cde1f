// Lanes and memory: who runs next, and whose trainer is in memory.
//
// A lane is free when none of its grants is unspent. Then the policy is asked; what it chooses and
// is resident gets a grant, what is not is started (evicting idle trainers if it must) and competes
// again once it is ready. A grant that overruns its slice by as much again is paused.
#include <algorithm>

#include "agent/core/step/gate.hpp"
#include "agent/core/step/stepper.hpp"
#include "base/require.hpp"

namespace laird::core {
namespace {

// Trainers getting ready at the same time: more would only slow each other and the running ones.
constexpr int kStartingMax = 4;
// The first grant of a task whose speed is unknown, in reports.
constexpr std::uint64_t kProbeReports = 2;
constexpr DurationNs kOverrunMin = 500 * kMillisecond;
// A trainer that just got ready is not evicted before it had this many slices and one grant.
constexpr DurationNs kResidencySlices = 10;

bool may_evict(const Task& task, TimeNs now, DurationNs slice) {
  return task.state == TaskState::kReady && task.grants_since_ready > 0 &&
         now - task.ready_at >= kResidencySlices * slice;
}

}  // namespace

TimeNs Stepper::overrun_at(const Lane& lane) const {
  // While a pause is on its way the pausing task's own timer watches over it.
  for (const TaskKey key : lane.running) {
    const Task* task = s_.find_live(key);
    LAIRD_REQUIRE(task != nullptr, "a lane runs a task that is not live");
    if (task->state == TaskState::kRunning) {
      return lane.slice_ends_at + std::max(lane.slice, kOverrunMin);
    }
  }
  return kNever;
}

void Stepper::schedule() {
  if (s_.shutting_down || s_.policy == nullptr) return;
  start_what_fits();
  // Before the lanes too: a trainer that has just spent its grant can be evicted only now, and a
  // task that needs its memory would wait for as long as it goes on getting the next one.
  make_room();
  for (std::uint32_t i = 0; i < s_.lanes.size(); ++i) schedule_lane(i);
  make_room();
}

void Stepper::schedule_lane(std::uint32_t index) {
  Lane& lane = s_.lanes[index];
  if (!lane.running.empty()) {
    if (s_.now < overrun_at(lane)) return;
    for (const TaskKey key : lane.running) {
      Task& task = *s_.find_live(key);
      if (task.state != TaskState::kRunning) continue;
      move(task, Trigger::kPreempt);
      out_.push_back({PreemptTrainer{task.process()}});
    }
    return;
  }
  if (s_.now < rest_ends_at(lane.gate) || continue_turn(index)) return;
  if (!decide_lane(index, false)) decide_lane(index, true);
}

// Asks the policy once. False: it chose only tasks that have to be started first, so the lane is
// still free for a resident one.
bool Stepper::decide_lane(std::uint32_t index, bool residents_only) {
  const Lane& lane = s_.lanes[index];
  s_.candidates_.clear();
  std::uint32_t not_ready = 0;
  for (const Task& task : s_.live) {
    if (task.spec.lane != lane.config.kind || !may_work(task)) continue;
    if (task.state == TaskState::kQueued || task.state == TaskState::kStarting ||
        task.state == TaskState::kBackoff) {
      ++not_ready;
    }
    const bool resident = task.state == TaskState::kReady && !is_waiting(task);
    const bool startable = task.state == TaskState::kQueued && !residents_only;
    if (resident || startable) s_.candidates_.push_back({&task, resident});
  }
  if (s_.candidates_.empty()) return true;
  policies::Decision& decision = s_.decision_;
  decision.clear();
  s_.policy->decide(policies::LaneView{index, lane.config.kind, s_.now, s_.config.slice,
                                       s_.candidates_, not_ready, lane.gate.ceiling_ppm},
                    decision);
  ++s_.counters.decisions;
  const DurationNs slice = std::clamp(decision.slice, kSliceMin, kSliceMax);
  LaneGate& gate = s_.lanes[index].gate;
  gate.turn.clear();
  gate.turn_left = gate.ceiling_ppm < kShareWholePpm ? slice : 0;
  std::uint64_t shares = 0;
  bool granted = false;
  for (const policies::Choice& choice : decision.choices) {
    Task* task = s_.find_live(choice.key);
    LAIRD_REQUIRE(task != nullptr, "a policy chose a task that was no candidate");
    if (task->state == TaskState::kQueued) {
      if (std::find(s_.wanted.begin(), s_.wanted.end(), choice.key) == s_.wanted.end()) {
        s_.wanted.push_back(choice.key);
      }
      continue;
    }
    LAIRD_REQUIRE(task->state == TaskState::kReady, "a policy chose a task that was no candidate");
    shares += choice.share_ppm;
    LAIRD_REQUIRE(shares <= kShareWholePpm, "a policy gave out more than the whole lane");
    if (gate.turn_left > 0) gate.turn.push_back({choice.key, choice.share_ppm});
    grant(index, *task, choice.share_ppm, piece_of(lane.gate, slice));
    granted = true;
  }
  return granted || decision.choices.empty();
}

// A trainer finishes what it was granted even when its agent hangs. So no grant of a board that
// uses a share may last beyond the fence, whatever slice the policy wishes for.
DurationNs Stepper::slice_max() const {
  const Fleet& fleet = s_.fleet;
  if (!fleet.member() || fleet.on_floor(s_.now)) return kSliceMax;
  return std::clamp(fleet.ledger->fence_deadline() - s_.now, kSliceMin, kSliceMax);
}

void Stepper::grant(std::uint32_t index, Task& task, std::uint32_t share_ppm, DurationNs slice) {
  slice = std::min(slice, slice_max());
  Lane& lane = s_.lanes[index];
  const std::uint64_t every = task.spec.report_every;
  std::uint64_t samples = kProbeReports * every;
  if (task.rate > 0.0) {
    const double part = static_cast<double>(share_ppm) / static_cast<double>(kShareWholePpm);
    const double wanted =
        task.rate * part * static_cast<double>(slice) / static_cast<double>(kSecond);
    samples = static_cast<std::uint64_t>(std::clamp(wanted, 1.0, static_cast<double>(kSamplesMax)));
    // Whole reports where the slice allows: each loss is then a mean over the same count.
    if (samples > every) samples -= samples % every;
    samples = gated_samples(lane.gate, samples, every, task.rate);
  }
  if (lane.running.empty()) {
    begin_spell(lane.gate, s_.now);
    lane.slice = slice;
    lane.slice_ends_at = s_.now + slice;
    if (lane.last_task != task.key) ++s_.counters.switches;
  }
  if (lane.last_task != task.key) ++task.switches;
  lane.last_task = task.key;
  lane.running.push_back(task.key);
  task.lane = static_cast<std::int32_t>(index);
  lanes_changed_ = true;
  task.share_ppm = share_ppm;
  task.grant_from = task.samples;
  task.grant_until = std::min(task.samples + samples, kSamplesMax);
  task.grant_at = s_.now;
  task.heard_at = s_.now;
  task.slice_ends_at = lane.slice_ends_at;
  ++task.grants;
  ++task.grants_since_ready;
  move(task, Trigger::kGrant);
  out_.push_back({RunTrainer{task.process(), task.grant_until, quota_of(lane, share_ppm)}});
}

void Stepper::start(Task& task) {
  ++task.attempt;
  task.heard_at = s_.now;
  std::erase(s_.wanted, task.key);
  move(task, Trigger::kStart);
  out_.push_back({StartTrainer{task.process()}});
}

// The task that is alone for now, to find out whether its trainer ends the agent: the first of
// those that were there at the last two deaths in a row and can run.
Task* Stepper::on_trial() {
  for (Task& task : s_.live) {
    if (task.agent_deaths < kAgentDeathsTrial) continue;
    if (has_process(task.state) || task.state == TaskState::kQueued) return &task;
  }
  return nullptr;
}

// Starts queued trainers while memory lasts: first what a policy asked for, then in order of
// acceptance, so that a task is ready by the time its turn comes.
void Stepper::start_what_fits() {
  std::int64_t free = s_.config.memory_bytes - s_.memory_used_bytes();
  auto starting = std::count_if(s_.live.begin(), s_.live.end(),
                                [](const Task& t) { return t.state == TaskState::kStarting; });
  const auto try_start = [&](Task& task) {
    if (task.state != TaskState::kQueued || task.spec.memory_bytes > free) return;
    if (!may_work(task) || !folder_is_free(task)) return;
    if (starting >= kStartingMax) return;
    free -= task.spec.memory_bytes;
    ++starting;
    start(task);
  };
  if (Task* trial = on_trial()) return try_start(*trial);
  while (!s_.wanted.empty()) {
    const TaskKey key = s_.wanted.front();
    Task* task = s_.find_live(key);
    if (task == nullptr || task->state != TaskState::kQueued || !may_work(*task)) {
      std::erase(s_.wanted, key);
      continue;
    }
    try_start(*task);
    // In order: smaller ones behind would take up, again and again, what is freed for this one.
    if (task->state == TaskState::kQueued) break;
  }
  // While somebody waits for memory, what is free is saved up for them.
  if (!s_.wanted.empty()) return;
  for (Task& task : s_.live) try_start(task);
}

// Evicts idle trainers, the longest unused first, until the first wanted task will fit.
void Stepper::make_room() {
  if (s_.wanted.empty()) return;
  const Task* wanted = s_.find_live(s_.wanted.front());
  if (wanted == nullptr) return;
  std::int64_t coming = s_.config.memory_bytes - s_.memory_used_bytes();
  for (const Task& task : s_.live) {
    if (task.state == TaskState::kEvicting) coming += task.spec.memory_bytes;
  }
  while (coming < wanted->spec.memory_bytes) {
    Task* victim = nullptr;
    for (Task& task : s_.live) {
      if (!may_evict(task, s_.now, s_.config.slice)) continue;
      if (victim == nullptr || task.grant_at < victim->grant_at) victim = &task;
    }
    if (victim == nullptr) return;
    coming += victim->spec.memory_bytes;
    ++s_.counters.evictions;
    move(*victim, Trigger::kEvict);
    out_.push_back({StopTrainer{victim->process()}});
  }
}

}  // namespace laird::core
