// A board of a virtual fleet: a real agent with its settings, journal, commands, ledger, trainer
// host and publishing, on a machine whose clock, processes, disk and network are the world's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/running_agent.hpp"
#include "tests/virtual/fake_broker.hpp"
#include "tests/virtual/fake_disk.hpp"
#include "tests/virtual/fake_trainers.hpp"
#include "tests/virtual/fiber.hpp"
#include "tests/virtual/virtual_poller.hpp"

namespace laird::test {

class Board {
 public:
  // `config` is the text of its laird.json; `folder` is its own.
  Board(std::string name, std::string folder, const std::string& config, Timeline& time,
        Chance& chance, FakeBroker& broker, std::int64_t drift_ppm);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Called when the agent has started, also by itself.
  using Started = std::function<void(Board&)>;
  void on_started(Started started) { started_ = std::move(started); }

  // What can happen to it.
  void start();
  void kill();       // kill -9 of the agent: trainers die with it
  void cut_power();  // the machine goes dark: the disk loses what was not synced
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }
  void set_wall_off(DurationNs off) { clock_.set_wall_off(off); }
  // A slow disk stands still in its next write of a turn.
  void set_disk_fault(FakeDisk::Fault fault);
  void expect_slow_disk(DurationNs write_takes) {
    slow_disk_ = true;
    slow_write_ = write_takes;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] bool running() const { return life_.has_value(); }
  // It does nothing: frozen from outside, or in the middle of a slow write.
  [[nodiscard]] bool frozen() const { return frozen_ || turning_.standing(); }
  [[nodiscard]] FakeTrainers& trainers() { return trainers_; }
  // Only while running.
  [[nodiscard]] agent::Agent& agent() { return life_->agent(); }
  [[nodiscard]] const core::State& state() { return life_->agent().state(); }
  // Told until the agent ends.
  void on_changed(agent::Agent::Changed changed) { life_->on_changed(std::move(changed)); }
  [[nodiscard]] bool connected() { return running() && life_->fleet()->connected(); }

  // When it next has something to do, by the world's time; kNever when it has not.
  [[nodiscard]] TimeNs next_due();
  // Does what is due now.
  void turn();

  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  void take_down();
  void turn_once();

  const std::string name_;
  const std::string folder_;
  const std::string config_path_;
  Timeline& time_;
  FakeBroker& broker_;
  BoardClock clock_;
  FakeTrainers trainers_;
  std::uint64_t boots_ = 1;
  agent::Machine machine_;
  FakeConnection* connection_ = nullptr;
  VirtualPoller* poller_ = nullptr;  // the loop's
  agent::LayeredSettings layers_;
  std::optional<agent::SettingsStore> store_;
  std::unique_ptr<agent::Loop> loop_;
  std::optional<agent::RunningAgent> life_;
  Started started_;
  bool frozen_ = false;
  Fiber turning_;
  bool slow_disk_ = false;  // it may stand still in a write from now on
  bool in_fiber_ = false;
  DurationNs slow_write_ = 0;
  TimeNs stands_until_ = 0;
  bool starts_again_ = false;
  std::uint64_t turns_ = 0;
  std::uint64_t heard_steps_ = 0;  // Agent::steps() when the trainers last read what it said
  std::string last_error_;
};

}  // namespace laird::test
