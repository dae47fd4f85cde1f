// Makes a recording of a journal that is stepped again: sees every event, the state after it and
// what the core answered. Pure: no file, no clock.
#pragma once

#include "agent/core/state/effect.hpp"
#include "agent/whatif/lane_use.hpp"
#include "agent/whatif/recording.hpp"

namespace laird::whatif {

class Recorder {
 public:
  // With the messages between the boards of a fleet, or without them.
  explicit Recorder(bool with_messages = false) : with_messages_(with_messages) {}

  // `state` is the one before the first event that is to be told. Earlier ones may be seen.
  void begin(core::State& state);
  void see(const core::Event& event, const core::State& state, const core::Effects& effects);
  // `state` is the last one. The recorder has nothing left to tell afterwards.
  [[nodiscard]] Recording finish(const core::State& state);

 private:
  // A trainer, and what it was told that it has not answered yet; 0: nothing.
  struct Process {
    TaskRecord* record = nullptr;
    std::uint32_t attempt = 0;
    TimeNs start_at = 0;
    TimeNs stop_at = 0;
    TimeNs pause_at = 0;
    TimeNs checkpoint_at = 0;
    bool ready = false;
    bool leaving = false;
    bool working = false;
    bool crashed = false;         // in this step
    std::uint64_t samples = 0;    // as far as is known
    std::uint64_t saved = 0;      // in the checkpoint that the core knows of
    std::uint64_t begun = 0;      // with which its grant began
    bool empty_grant = false;     // it was granted no more than it has done
    bool pause_reported = false;  // a loss, before it said that it has paused
    std::uint64_t until = 0;
    double speed = 0.0;  // of the whole lane at full clocks: its share and the clocks
    double share = 0.0;
    TimeNs mark_at = 0;  // its work is counted up to here
    double since_report = 0.0;
  };

  void meet(const TaskId& id, const core::Task& task);
  void find_at_work(const core::Task& task, Process& process);
  void see_recurring(const core::State& state);
  void see_given(const core::Event& event);
  void see_limits(const core::State& state);
  void see_stall(const core::Event& event);
  void see_messages(const core::Event& event, const core::Effects& effects);
  void keep_message(std::vector<LedgerMessage>& messages, const std::string& peer,
                    std::string_view bytes, DurationNs listened);
  void see_reading(const power::PowerReading& reading);
  void hear(const core::EventBody& body);
  void see_effect(const core::Effect& effect, const core::State& state);
  void see_kill(Process& process);
  void see_rungs(const core::State& state);
  void see_ended(const core::State& state);
  void keep(const core::Task& task);
  void crash(Process& process, core::EventBody end, bool hung);
  void count_work(Process& process);
  [[nodiscard]] Process* find(const core::ProcessRef& ref);
  void on_ready(Process& process, const core::TrainerReady& e);
  void on_report(Process& process, const core::TrainerProgressed& e);
  void on_checkpoint(Process& process, const core::TrainerCheckpointed& e);
  void advance(Process& process, std::uint64_t samples);
  void fit_power(const core::State& state);

  Recording out_;
  Names names_;
  Tallier tallier_;
  LaneUse lanes_;
  std::map<core::TaskKey, Process> processes_;
  std::vector<DurationNs> late_;
  std::vector<DurationNs> between_readings_;
  TimeNs now_ = 0;
  TimeNs wake_at_ = kNever;
  TimeNs read_at_ = 0;
  FleetLimits limits_;
  core::TaskKey newest_ended_ = 0;
  core::TaskKey next_key_ = 0;
  double rungs_ = 1.0;
  // Pauses in the middle of work: how many came with a report of the loss there.
  std::uint64_t pauses_with_report_ = 0;
  std::uint64_t pauses_without_ = 0;
  std::uint64_t empty_grants_with_report_ = 0;
  std::uint64_t empty_grants_without_ = 0;
  const bool with_messages_;
  bool begun_ = false;
  bool is_tick_ = false;  // the event in hand
  std::map<std::string, std::uint16_t> peer_numbers_;
  TimeNs listened_at_ = 0;
  // Sums over the readings of 1, the use of each kind and the power, and their products.
  std::array<std::array<double, 4>, 3> fit_{};
};

}  // namespace laird::whatif
