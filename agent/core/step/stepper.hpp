// Private to the core: the pieces of one step, divided over files by topic.
#pragma once

#include <string>
#include <string_view>

#include "agent/core/step/runs/run_words.hpp"
#include "agent/core/step/step.hpp"
#include "agent/core/step/titles/title_body.hpp"

namespace laird::core {

class Stepper {
 public:
  Stepper(State& state, Effects& out) : s_(state), out_(out) {}

  void apply(const Event& event);
  [[nodiscard]] Status check_admission(const TaskSpec& spec) const;

  // Requests (requests.cpp).
  void on(const Submitted& e);
  void on(const CancelRequested& e);
  void on(const PauseRequested& e);
  void on(const ResumeRequested& e);

  // Names and edits (edits.cpp).
  void on(const EditRequested& e);
  void on(const RemoveRequested& e);
  [[nodiscard]] static std::uint64_t digest_of_spec(TaskSpec spec);
  [[nodiscard]] static bool is_same_submission(const Task& known, const TaskSpec& spec);
  void give_way(const TaskSpec& spec);
  // No trainer of another task works in the folder that this one's will.
  [[nodiscard]] bool folder_is_free(const Task& task) const;

  // Recurring tasks (recurring.cpp).
  [[nodiscard]] Status check_recurring(const TaskSpec& spec) const;

  // Trainers (trainers.cpp).
  void on(const TrainerReady& e);
  void on(const TrainerProgressed& e);
  void on(const TrainerCheckpointed& e);
  void on(const TrainerDone& e);
  void on(const TrainerFailed& e);
  void on(const TrainerExited& e);
  void on(const TrainerYielded& e);
  // Promotions (promotion.cpp).
  void on(const TrainerPromoted& e);
  void on(const GroupNoted& e);
  [[nodiscard]] Status check_promotion(const TaskSpec& spec) const;
  [[nodiscard]] bool is_being_promoted(std::string_view task) const;
  // The one that goes on with a task's model and has no outcome yet; nullptr if there is none.
  [[nodiscard]] Task* promotion_of(std::string_view task);
  [[nodiscard]] Task make_promotion(const Task& parent);

  // Ready, but it said that it has nothing to do yet.
  [[nodiscard]] bool is_waiting(const Task& task) const;

  // The fleet (fleet_step.cpp).
  void on(const DrainRequested& e);
  void on(const FleetJoined& e);
  void on(const PeersHeard& e);
  void on(const BudgetChanged& e);
  void on(const OperatorCommand& e);
  void on(const CommandRefused& e);
  void on(const ConfigRequested& e);
  void on(const ConfigNoted& e);
  void on(const Displaced& e);

  // Tasks that may move (titles/title_step.cpp, titles/move_step.cpp).
  void on(const MoveRequested& e);
  void on(const TitlesHeard& e);
  void on(const CheckpointRead& e);

  // Earlier runs (runs/run_step.cpp).
  void on(const RunsHeard& e);

  // The board and its clock (step.cpp).
  void on(const Booted& e);
  void on(const Ticked&) {}
  void on(const ClockStepped& e);
  void on(const PowerSampled& e);
  void on(const ShutdownRequested&);

  // The cap (power.cpp).
  void on(const CapRequested& e);
  void on(const PowerKnobSet& e);

 private:
  // Life cycle (lifecycle.cpp): the only places that change a task's state.
  void move(Task& task, Trigger trigger);
  void decide(Task& task, Outcome outcome, std::string reason);
  void crash(Task& task, std::string why);
  void leave_lane(Task& task);
  void sweep_ended();
  void meter_running();
  [[nodiscard]] Task* addressed(const ProcessRef& process);

  // Time (timers.cpp).
  void expire(Task& task);
  void expire_all();
  void set_wake();
  [[nodiscard]] TimeNs due_at(const Task& task) const;
  [[nodiscard]] TimeNs hang_at(const Task& task) const;
  [[nodiscard]] TimeNs gone_by(const Task& task) const;
  void finish_shutdown();
  [[nodiscard]] TimeNs deadline_of(const TaskSpec& spec, TimeNs accepted_at) const;

  // Lanes and memory (schedule.cpp).
  void schedule();
  void schedule_lane(std::uint32_t index);
  bool decide_lane(std::uint32_t index, bool residents_only);
  void grant(std::uint32_t index, Task& task, std::uint32_t share_ppm, DurationNs slice);
  [[nodiscard]] DurationNs slice_max() const;
  void start(Task& task);
  void start_what_fits();
  [[nodiscard]] Task* on_trial();
  void make_room();
  [[nodiscard]] TimeNs overrun_at(const Lane& lane) const;

  // Recurring tasks (recurring.cpp).
  [[nodiscard]] bool answer_known_recurring(const Submitted& e);
  void accept_recurring(const Submitted& e);
  std::string end_runs(std::string_view recurring, const std::string& why);
  void drop_recurring(std::string_view task, const std::string& why);
  void cancel_recurring(Recurring& r, std::uint64_t request);
  void pause_recurring(Recurring& r, std::uint64_t request);
  void resume_recurring(Recurring& r, std::uint64_t request);
  void edit_recurring(Recurring& r, const EditRequested& e);
  void begin_calendar(Recurring& r);
  void remove_recurring(const Recurring& r, std::uint64_t request);
  [[nodiscard]] std::string hindrance_of(const Recurring& r, const TaskSpec& run) const;
  [[nodiscard]] bool begin_run(Recurring& r, const Window& window);
  void look_at(Recurring& r, TimeNs wall);
  void tell_missed(Recurring& r, std::uint64_t missed, const std::string& why);
  void follow_calendar();
  void look_at_calendar_again();
  [[nodiscard]] TimeNs calendar_due_at() const;
  void note_run(const Task& task);

  // The fleet (fleet_step.cpp).
  void boot_fleet(const Booted& e);
  void found_or_join(bool seen_before);
  void begin_again(std::uint32_t last);
  void leave_fleet();
  void come_back();
  void set_fleet_tick();
  void begin_ledger(std::uint32_t incarnation);
  void note_wire_version(const PeerMessage& m);
  void adopt_budget(const FleetBudget& budget);
  void fleet_tick();
  void enforce_shares();
  void apply_shares();
  void send(const consensus::Out& out);
  [[nodiscard]] TimeNs wall_now() const { return s_.now + s_.wall_minus_agent; }

  // Tasks that may move (titles/title_step.cpp).
  [[nodiscard]] consensus::Sight sight(DurationNs ahead) const;
  [[nodiscard]] consensus::TitleDesk& desk();
  [[nodiscard]] const consensus::HeldTitle* title_of(const Task& task) const;
  [[nodiscard]] bool may_work(const Task& task) const;
  // Its title is here, not on its way and not another's.
  [[nodiscard]] bool is_ours(const Task& task) const;
  [[nodiscard]] bool would_take(const consensus::TitleMessage& message) const;
  [[nodiscard]] TitleBody body_of(const Task& task) const;
  void titles_tick();
  void issue_titles(const consensus::Sight& now);
  void match_titles(bool reclaimed);
  void adopt(const consensus::HeldTitle& title, bool reclaimed);
  void watch_titles();
  void end_title(const Task& task);
  void renew_title(const Task& task, TitleBody body);
  void send(const consensus::TitlePackets& packets);
  void tell_move(const std::string& text);
  // Moves (titles/move_step.cpp).
  void advance_moves();
  void advance_move(Task& task);
  void call_off(Task& task, const std::string& why);
  void copy_checkpoint(Task& task);

  // Earlier runs (runs/run_step.cpp).
  void recall_earlier_run(Task& task);
  void take_run(const std::string& from, const RunTold& told);

  // The cap and what holds it (power.cpp).
  void boot_power(const PowerConfig& before);
  void govern();
  void govern_reading(const power::PowerReading& reading);
  void follow_caps();
  void carry_out(const power::Move& move);
  void release_power();
  [[nodiscard]] std::int64_t mean_power_mw(std::int64_t total_mw);
  [[nodiscard]] std::int64_t between_readings_mw();
  [[nodiscard]] TimeNs power_due_at() const;

  // The step gate (gate_step.cpp); its arithmetic is in gate.hpp.
  void update_ceilings();
  void note_held_back();
  [[nodiscard]] bool is_wanted(const Lane& lane) const;
  [[nodiscard]] std::int64_t part_of_kind_permille(const Lane& lane) const;
  [[nodiscard]] bool continue_turn(std::uint32_t index);
  [[nodiscard]] std::uint32_t quota_of(const Lane& lane, std::uint32_t share_ppm) const;

  // Accepts a task that passed; gives its key.
  TaskKey add_task(TaskSpec spec, bool fresh);
  void answer(std::uint64_t request, TaskKey key, std::string text);
  void refuse(std::uint64_t request, Code code, std::string text);
  [[nodiscard]] Task* live_named(std::string_view task);
  [[nodiscard]] Task* undecided(std::uint64_t request, const std::string& name);

  State& s_;
  Effects& out_;
  bool lanes_changed_ = false;
  bool may_run_titles_ = false;  // the board is unfenced, with the margin of its shares
  std::string_view by_;          // the operator whose signed command is being done; empty: nobody's
};

}  // namespace laird::core
