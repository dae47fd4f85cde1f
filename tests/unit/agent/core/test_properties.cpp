// Random lives of a board: whatever trainers and operators do, the core's promises hold after
// every single step. A failing run prints its seed.
#include <cstdio>
#include <map>
#include <string>

#include "agent/core/step/step.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;
using test::FakeBoard;
using test::FakeTrainer;

namespace {

constexpr int kStepsPerLook = 16;

std::string broken;  // the first promise found broken

void expect(bool holds, const char* promise) {
  if (!holds && broken.empty()) broken = promise;
}

void check_lanes(const State& state) {
  std::map<TaskKey, int> seen;
  for (const Lane& lane : state.lanes) {
    std::uint64_t shares = 0;
    for (const TaskKey key : lane.running) {
      const Task* task = state.find_live(key);
      expect(task != nullptr, "a lane runs only live tasks");
      if (task == nullptr) return;
      expect(++seen[key] == 1, "a task runs on one lane");
      expect(task->state == TaskState::kRunning || task->state == TaskState::kPreempting,
             "what a lane runs is running");
      expect(task->spec.lane == lane.config.kind, "a task runs on its kind of lane");
      expect(state.now < task->deadline_at, "no task past its deadline holds a grant");
      shares += task->share_ppm;
    }
    expect(shares <= kShareWholePpm, "shares sum to at most the whole lane");
  }
}

void check_state(const State& state) {
  check_lanes(state);
  expect(state.memory_used_bytes() <= state.config.memory_bytes, "trainers fit in memory");
  for (const Task& task : state.live) {
    expect(task.state != TaskState::kEnded, "an ended task is not live");
    expect((task.outcome != Outcome::kNone) == (task.state == TaskState::kFinishing),
           "a live task has an outcome only while it finishes");
    expect(task.outcome != Outcome::kNone || state.now < task.deadline_at,
           "a deadline that has come has been acted on");
    expect(task.time_sheet.total() == state.now - task.accepted_at,
           "a live task's time sheet is its whole time up to now");
    expect(task.time_sheet.fits_limits(), "a time sheet stays within its limits");
    const bool on_lane = task.lane >= 0;
    expect(on_lane == (task.state == TaskState::kRunning || task.state == TaskState::kPreempting),
           "exactly the running tasks are on lanes");
  }
  for (const Task& task : state.ended) {
    expect(task.time_sheet.total() == task.ended_at - task.accepted_at,
           "an ended task's time sheet is its whole time");
  }
}

FakeTrainer random_trainer(test::Random& random) {
  FakeTrainer trainer;
  trainer.rate = static_cast<double>(100 + random.below(5000));
  trainer.loss_slope = 0.05 * static_cast<double>(1 + random.below(20));
  trainer.start_ns = static_cast<DurationNs>(random.below(3)) * kSecond;
  if (random.chance(20)) trainer.crash_at = 100 + random.below(20'000);
  if (random.chance(15)) trainer.done_at = 500 + random.below(30'000);
  trainer.hang_on_start = random.chance(4);
  trainer.hang_on_run = random.chance(4);
  trainer.ignore_pause = random.chance(8);
  trainer.ignore_stop = random.chance(8);
  return trainer;
}

CoreConfig random_config(test::Random& random) {
  const auto names = policies::policy_names();
  CoreConfig config = test::small_board(std::string(names[random.below(names.size())]));
  config.memory_bytes = static_cast<std::int64_t>(200 + random.below(900)) * 1'000'000;
  config.slice = static_cast<DurationNs>(50 + random.below(3000)) * kMillisecond;
  config.timing.hang_timeout = 5 * kSecond;
  config.timing.start_timeout = 5 * kSecond;
  config.timing.preempt_timeout = 3 * kSecond;
  config.timing.stop_grace = 2 * kSecond;
  config.timing.checkpoint_every = 2 * kSecond;
  config.timing.attempts_max = 3;
  if (random.chance(30)) config.lanes.push_back({"cpu1", LaneKind::kCpu, 1000});
  for (power::RungConfig& rung : config.power.governor.rungs) rung.available = random.chance(60);
  config.power.governor.idle_mw = static_cast<std::int64_t>(random.below(5000));
  config.power.governor.dynamic_mw = static_cast<std::int64_t>(random.below(20'000));
  config.power.gpu_dynamic_mw = config.power.governor.dynamic_mw / 2;
  config.power.cpu_dynamic_mw = config.power.governor.dynamic_mw / 2;
  if (random.chance(20)) config.power.cap_mw = static_cast<std::int64_t>(1 + random.below(20'000));
  return config;
}

// Caps, ceilings and readings that have nothing to do with what runs.
void power_noise(FakeBoard& board, test::Random& random) {
  if (random.chance(10)) {
    std::optional<std::int64_t> cap_mw;
    if (random.chance(60)) cap_mw = static_cast<std::int64_t>(random.below(25'000));
    board.tell(CapRequested{1, cap_mw, static_cast<DurationNs>(random.below(60)) * kSecond});
  }
  if (random.chance(5)) {
    const auto ppm = static_cast<std::uint32_t>(random.below(3) * 500'000);
    board.state.power.set_fleet_ceiling_ppm(random.chance(50) ? LaneKind::kGpu : LaneKind::kCpu,
                                            ppm);
    board.tell(Ticked{});
  }
  if (random.chance(30)) {
    power::PowerReading reading;
    if (random.chance(90)) reading.total_mw = static_cast<std::int64_t>(random.below(30'000));
    reading.zones = {{"cpu", static_cast<std::int64_t>(random.below(110'000))}};
    board.tell(PowerSampled{reading});
  }
  if (random.chance(5)) {
    board.tell(PowerKnobSet{power::Rung::kDevfreq, static_cast<power::KnobResult>(random.below(3)),
                            static_cast<std::int32_t>(random.below(1200)), ""});
  }
}

// Hostile or late words of trainers that do not exist or are elsewhere in their life.
void noise(FakeBoard& board, test::Random& random) {
  const ProcessRef ref{static_cast<TaskKey>(random.below(12)),
                       static_cast<std::uint32_t>(random.below(4))};
  switch (random.below(6)) {
    case 0: board.tell(TrainerProgressed{ref, random.below(10'000), 0.5}); break;
    case 1: board.tell(TrainerReady{ref, random.below(1000), 0}); break;
    case 2: board.tell(TrainerCheckpointed{ref, random.below(10'000)}); break;
    case 3: board.tell(TrainerExited{ref, 1}); break;
    case 4: board.tell(TrainerFailed{ref, "noise"}); break;
    default: board.tell(Ticked{}); break;
  }
}

void live_one_life(std::uint64_t seed) {
  test::Random random{seed};
  FakeBoard board(random_config(random));
  std::map<std::string, bool> accepted;
  std::map<std::string, Outcome> outcomes;
  int steps = 0;
  board.after_step = [&](const Event&, const Effects& commands) {
    check_state(board.state);
    const std::uint64_t digest = board.state.digest();
    if (++steps % kStepsPerLook == 0) {
      expect(test::read_back(board.state).digest() == digest, "what is kept of a digest is true");
    }
    for (const Effect& command : commands) {
      const auto* changed = std::get_if<TaskChanged>(&command.body);
      if (changed == nullptr || changed->state != TaskState::kEnded) continue;
      const Task* task = board.state.find_any(changed->key);
      expect(task != nullptr, "an ended task is still known");
      if (task == nullptr) continue;
      expect(!outcomes.contains(task->spec.name), "a task ends once");
      outcomes[task->spec.name] = task->outcome;
    }
  };
  for (int step = 0; step < 120 && broken.empty(); ++step) {
    const std::string name = "t" + std::to_string(random.below(12));
    if (random.chance(35)) {
      TaskSpec spec =
          test::small_task(name, static_cast<DurationNs>(1 + random.below(120)) * kSecond,
                           0.01 * static_cast<double>(1 + random.below(90)));
      spec.memory_bytes = static_cast<std::int64_t>(50 + random.below(300)) * 1'000'000;
      if (random.chance(40)) spec.lane = LaneKind::kGpu;
      board.submit(spec, random_trainer(random));
      if (board.answers.back().ok) accepted[name] = true;
    }
    if (random.chance(5)) board.tell(CancelRequested{1, name});
    if (random.chance(5)) board.tell(PauseRequested{1, name});
    if (random.chance(8)) board.tell(ResumeRequested{1, name});
    if (random.chance(20)) noise(board, random);
    power_noise(board, random);
    if (random.chance(4)) board.restart();
    board.run_for(static_cast<DurationNs>(random.below(4000)) * kMillisecond);
  }
  // A lane that may not run at all keeps its tasks until their deadlines, like any other.
  board.run_for(5 * kMinute);
  for (const auto& [name, yes] : accepted) {
    expect(outcomes.contains(name), "every accepted task has ended by long after its deadline");
  }
}

}  // namespace

TEST(the_promises_hold_in_every_random_life) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    broken.clear();
    live_one_life(seed);
    char message[200];
    std::snprintf(message, sizeof message, "seed %llu: %s", static_cast<unsigned long long>(seed),
                  broken.c_str());
    TEST_ASSERT_TRUE_MESSAGE(broken.empty(), message);
  }
}

TEST(the_same_seed_lives_the_same_life_under_every_policy) {
  for (const std::string_view policy : policies::policy_names()) {
    std::uint64_t digests[2] = {};
    for (std::uint64_t& digest : digests) {
      test::Random random{77};
      CoreConfig config = random_config(random);
      config.policy = policy;
      FakeBoard board(config);
      for (int i = 0; i < 6; ++i) {
        board.submit(test::small_task("t" + std::to_string(i), kMinute, 0.2),
                     random_trainer(random));
      }
      board.run_for(45 * kSecond);
      digest = board.state.digest();
    }
    TEST_ASSERT_EQUAL_HEX64_MESSAGE(digests[0], digests[1], std::string(policy).c_str());
  }
}

TEST(a_life_ends_in_the_same_state_on_every_architecture) {
  test::Random random{5};
  FakeBoard board(test::small_board());
  for (int i = 0; i < 8; ++i) {
    board.submit(test::small_task("t" + std::to_string(i), kMinute, 0.2), random_trainer(random));
  }
  board.run_for(50 * kSecond);
  // Forecasts, rates and the meter are all in it; it changes only with the core's behaviour, and
  // then so do recorded journals.
  TEST_ASSERT_EQUAL_HEX64(0x1EADAA31BD52C801ULL, board.state.digest());
}
