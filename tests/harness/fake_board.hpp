// A board in virtual time around the unchanged core: trainers are models that use up grants at a
// steady rate and lose loss as a power law, with faults on request. Tests own time here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "agent/core/step/step.hpp"

namespace laird::test {

struct FakeTrainer {
  double rate = 1000.0;     // samples per second
  double loss_start = 1.0;  // loss(s) = start * (1 + s / 1000)^-slope
  double loss_slope = 0.5;
  DurationNs start_ns = 100 * kMillisecond;
  DurationNs checkpoint_ns = 5 * kMillisecond;
  std::uint64_t done_at = 0;   // says done at this many samples; 0 never
  std::uint64_t crash_at = 0;  // crashes once when it gets here; 0 never
  bool hang_on_start = false;
  bool hang_on_run = false;
  bool ignore_pause = false;
  bool ignore_stop = false;
  bool large_checkpoint = false;  // too large to travel with its task
};

// The state as a journal would bring it back: nothing is kept of what was worked out before.
[[nodiscard]] core::State read_back(core::State& state);

class FakeBoard {
 public:
  explicit FakeBoard(core::CoreConfig config);

  // Steps one event at the present time and carries out what the core asks for.
  void tell(core::EventBody body);
  // Lets virtual time pass.
  void run_for(DurationNs duration);
  // Time passes while the agent is dead, or stands still and hears later what happened.
  void skip(DurationNs duration) { now_ += duration; }
  void submit(core::TaskSpec spec, FakeTrainer trainer = {});
  // How a task of that name would train here, should it come.
  void know(const std::string& name, FakeTrainer trainer) { trainers_[name] = trainer; }
  // All processes die; the state goes through its encoding, as through a journal.
  void restart();

  [[nodiscard]] const core::Task* task(const std::string& name) const {
    return state.find_named(name);
  }
  [[nodiscard]] TimeNs now() const { return now_; }
  // The commands of one kind seen so far.
  [[nodiscard]] int count(std::string_view command_name) const;

  core::State state;
  core::CoreConfig config;
  std::uint64_t machine_boot = 1;  // change it before restart(): the whole machine went down
  std::uint64_t program = 1;       // change it before restart(): the agent was upgraded
  core::Zone zone;                 // what local time is
  DurationNs clock_off = 0;        // of the wall clock against the agent's time
  // The wall clock is set, and the agent notices.
  void set_clock(DurationNs off) {
    clock_off = off;
    tell(core::ClockStepped{now_ + off, zone});
  }
  std::vector<core::SendToPeer> sent;
  std::vector<core::SendTitle> sent_titles;
  std::vector<core::SendRun> sent_runs;
  std::vector<core::Notice> notices;
  std::vector<core::Answer> answers;
  bool exited = false;
  // Called after every step with the event just applied.
  std::function<void(const core::Event&, const core::Effects&)> after_step;

 private:
  struct Process {
    core::ProcessRef ref;
    std::string name;
    std::uint64_t samples = 0;
    std::uint64_t until = 0;
    TimeNs run_since = 0;
    std::uint64_t run_from = 0;
    bool ready = false;
    bool running = false;
    std::uint64_t generation = 0;  // of the run in progress: replaces stale reports
  };
  struct Happening {
    TimeNs at;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void apply(core::EventBody body);
  void carry_out(const core::Effect& command);
  void later(DurationNs delay, std::function<void()> what);
  void report(core::TaskKey key, std::uint32_t attempt, std::uint64_t generation);
  [[nodiscard]] Process* find(const core::ProcessRef& ref);
  void stop_running(Process& process);
  [[nodiscard]] double loss_of(const FakeTrainer& trainer, std::uint64_t samples) const;
  void write_checkpoint(Process& process);
  void place_checkpoint(const core::Task& task);

  TimeNs now_ = 1'000'000 * kSecond;
  std::uint64_t order_ = 0;
  std::priority_queue<Happening> future_;
  std::uint64_t wake_generation_ = 0;
  std::map<core::TaskKey, Process> processes_;
  std::map<std::string, FakeTrainer> trainers_;
  std::map<std::string, std::uint64_t> checkpoints_;
  std::map<std::string, int> counts_;
};

// One gpu and one cpu lane, 1 GB for tasks, a trainer called "fake".
[[nodiscard]] core::CoreConfig small_board(const std::string& policy = "round-robin");
[[nodiscard]] core::TaskSpec small_task(const std::string& name, DurationNs deadline,
                                        double target_loss);
// Different tasks, learning at different speeds.
void submit_several(FakeBoard& board, int tasks);
// Of the state of a board with several tasks after a minute; written and read back in the middle if
// `restarted`, which must change nothing.
[[nodiscard]] std::uint64_t digest_after_a_minute(const std::string& policy, int tasks,
                                                  bool restarted);

}  // namespace laird::test
