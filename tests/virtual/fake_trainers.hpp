// Trainers without processes: each speaks the protocol over a real socket to the real trainer host,
// learns along a curve in virtual time, and keeps its checkpoints where a crash of the board does
// not reach. They crash and hang as the world wishes.
//
// The task's params say how it learns: {"speed": samples a second, "start": first loss, "end": last
// loss, "scale": samples in which the gap falls to a third, "planned": samples in all}.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/os/process.hpp"
#include "os/line_splitter.hpp"
#include "tests/virtual/timeline.hpp"
#include "tests/virtual/virtual_poller.hpp"

namespace laird::test {

class FakeTrainers final : public agent::Processes {
 public:
  FakeTrainers(Timeline& time, Chance& chance) : time_(time), chance_(chance) {}

  // Whose loop hears them from now on.
  void set_poller(VirtualPoller* poller) { poller_ = poller; }
  // They read what the agent has sent; call after each turn of it.
  void pump();
  // One of them has ended and was not collected.
  [[nodiscard]] bool any_ended() const;
  // One of them works at this moment.
  [[nodiscard]] bool any_working() const;
  // The tasks that they work on at this moment.
  [[nodiscard]] std::vector<std::string> at_work() const;
  // One of them, if there is one, dies on the spot or stops answering.
  void crash_one();
  void hang_one();

  [[nodiscard]] Result<agent::Process> start(const agent::ProcessSpec& spec,
                                             const agent::Cgroup* group) override;
  void signal_all(int pid, int signal) override;
  [[nodiscard]] bool has_ended(int pid) override;
  agent::Ending collect(int pid) override;

 private:
  struct Trainer {
    Fd socket;
    std::string task;
    LineSplitter lines{65536, Overlong::kCut};
    std::uint64_t samples = 0;
    std::uint64_t until = 0;
    std::uint64_t report_every = 1;
    std::uint64_t planned = 0;
    double speed = 1000.0;
    double start = 2.0;
    double end = 0.1;
    double scale = 1e5;
    bool ready = false;
    bool hung = false;
    bool frozen = false;
    bool ended = false;
    int status = 0;
    // The stretch of work under way: from when, for how many samples; none when 0.
    TimeNs since = 0;
    std::uint64_t stretch = 0;
    std::uint64_t plan = 0;  // counts plans, so that one that was overtaken does nothing
  };

  void hear(Trainer& trainer, int pid, std::string_view line);
  void begin(Trainer& trainer, int pid, std::string_view line);
  void work(int pid);
  void stop_working(Trainer& trainer);
  void say(Trainer& trainer, const std::string& line);
  void keep_checkpoint(Trainer& trainer);
  void end(Trainer& trainer, int status);
  [[nodiscard]] std::string loss_of(const Trainer& trainer) const;
  [[nodiscard]] Trainer* some();

  Timeline& time_;
  Chance& chance_;
  VirtualPoller* poller_ = nullptr;
  std::map<int, std::unique_ptr<Trainer>> trainers_;  // by pid
  std::map<std::string, std::uint64_t> checkpoints_;  // samples, by task
  int next_pid_ = 100;
  std::shared_ptr<FakeTrainers*> self_ = std::make_shared<FakeTrainers*>(this);

 public:
  ~FakeTrainers() override { *self_ = nullptr; }
};

}  // namespace laird::test
