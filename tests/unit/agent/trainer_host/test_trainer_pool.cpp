#include "agent/trainer_host/trainer_pool.hpp"

#include <signal.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::agent;

namespace {

class OwnClock final : public Clock {
 public:
  [[nodiscard]] TimeNs boot_ns() override { return now; }
  [[nodiscard]] TimeNs wall_ns() override { return now; }
  TimeNs now = kSecond;
};

// Processes that are numbers: what they were told, and which of them have ended.
class ToldProcesses final : public Processes {
 public:
  [[nodiscard]] Result<Process> start(const ProcessSpec&, const Cgroup*) override {
    Process out;
    out.id = next_pid++;
    return out;
  }
  void signal_all(int pid, int signal) override {
    signals.push_back(signal);
    if (signal == SIGKILL) ended[pid] = true;
  }
  [[nodiscard]] bool has_ended(int pid) override { return ended[pid]; }
  Ending collect(int) override { return {SIGKILL, ""}; }

  std::vector<int> signals;
  std::map<int, bool> ended;
  int next_pid = 100;
};

struct OnePool {
  // Turns the loop from timer to timer for so long; how many turns that took.
  int run_for(DurationNs time) {
    const TimeNs end = clock.now + time;
    int turns = 0;
    for (; loop->next_due() <= end; ++turns) {
      clock.now = std::max(clock.now, loop->next_due());
      TEST_ASSERT_TRUE(loop->run_once(0).has_value());
    }
    clock.now = end;
    return turns;
  }
  void start(core::TaskKey key) {
    core::TaskSpec spec;
    spec.name = "t-" + std::to_string(key);
    spec.trainer = "shell";
    pool.start(core::StartTrainer{{key, 1}}, spec, false);
  }
  void end(core::TaskKey key) {
    pool.kill(core::KillTrainer{{key, 1}});
    pool.reap();
  }
  [[nodiscard]] auto count(int signal) const {
    return std::count(processes.signals.begin(), processes.signals.end(), signal);
  }

  test::TemporaryFolder folder;
  OwnClock clock;
  ToldProcesses processes;
  std::unique_ptr<Loop> loop = std::move(*Loop::create(clock));
  TrainerPool pool{*loop,
                   processes,
                   {{"shell", TrainerProgram{{"/bin/true"}, {}, false, true}}},
                   folder.path(),
                   nullptr,
                   0,
                   [](const core::EventBody&) {},
                   [](const std::string&) {}};
};

}  // namespace

TEST(a_duty_cycle_does_not_wake_an_agent_that_has_no_trainers) {
  OnePool one;
  one.pool.set_duty(core::SetFreezerDuty{400});
  TEST_ASSERT_EQUAL_INT(0, one.run_for(kHour));
}

TEST(a_trainer_that_starts_under_a_duty_cycle_is_held_by_it) {
  OnePool one;
  one.pool.set_duty(core::SetFreezerDuty{400});
  one.run_for(kMinute);
  one.start(1);
  one.pool.run(core::RunTrainer{{1, 1}, 1000, 1000});
  one.processes.signals.clear();
  one.run_for(50 * kMillisecond);
  TEST_ASSERT_EQUAL_INT64(1, one.count(SIGSTOP));
  one.run_for(950 * kMillisecond);
  TEST_ASSERT_EQUAL_INT64(10, one.count(SIGSTOP));
  TEST_ASSERT_EQUAL_INT64(10, one.count(SIGCONT));
}

TEST(a_duty_cycle_rests_when_the_last_trainer_has_gone_and_holds_the_next_one) {
  OnePool one;
  one.start(1);
  one.pool.run(core::RunTrainer{{1, 1}, 1000, 1000});
  one.pool.set_duty(core::SetFreezerDuty{400});
  TEST_ASSERT_TRUE(one.run_for(kSecond) >= 20);
  one.end(1);
  TEST_ASSERT_TRUE(one.pool.empty());
  TEST_ASSERT_TRUE(one.run_for(kHour) <= 2);
  one.start(2);
  one.pool.run(core::RunTrainer{{2, 1}, 1000, 1000});
  one.processes.signals.clear();
  one.run_for(kSecond);
  TEST_ASSERT_EQUAL_INT64(10, one.count(SIGSTOP));
  TEST_ASSERT_EQUAL_INT64(10, one.count(SIGCONT));
}
