// The state of a board as people and programs see it: one row per task.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/state.hpp"
#include "agent/placement/need.hpp"
#include "json/value.hpp"
#include "trainer_protocol/to_agent.hpp"

namespace laird::agent {

struct TaskRow {
  std::string name;
  std::string lane;
  std::string state;         // the outcome once there is one; "throttled" while power holds it back
  std::string throttled_by;  // whose limit that is, "operator" and the like; empty: none
  double throttled_limit = 0;   // in watts, or as a part of the lane's time
  DurationNs throttled_ns = 0;  // since its acceptance
  std::uint64_t samples = 0;
  std::uint64_t planned_samples = 0;
  bool loss_known = false;
  double loss = 0.0;
  double target_loss = 0.0;
  double weight = 1.0;
  // The loss at the deadline, if it keeps the share of time it has had so far.
  bool forecast_known = false;
  double forecast_loss = 0.0;
  double forecast_low = 0.0;
  double forecast_high = 0.0;
  placement::Need need;         // of a task that is not over
  std::int64_t energy_uj = -1;  // -1: not metered
  DurationNs deadline_in = 0;   // negative: passed
  double share = 0.0;           // of the board's lane time since acceptance
  DurationNs busy_ns = 0;
  DurationNs took_ns = 0;  // from acceptance to the end, or until now
  std::uint32_t switches = 0;
  std::string reason;
  bool ended = false;
  bool succeeded = false;
  std::string trainer;
  std::string work;  // its trainer and parameters (agent/placement/measured_works.hpp)
  std::int64_t memory_bytes = 0;
  double rate = 0.0;                    // samples per second with the whole lane; 0: not known yet
  std::string promotes;                 // the task whose model it promotes
  core::Promotion promotion;            // what came of that
  std::string run_of;                   // the recurring task that it is a run of
  std::string sweep;                    // that it is a member of
  double best_loss = 0.0;               // the lowest that it has shown
  std::string promotion_task;           // of a task whose model is promoted: the task that does it
  bool movable = false;                 // the fleet may run it elsewhere
  std::string title;                    // the state of its title; empty: it has none
  std::uint32_t title_number = 0;       // grows with every change of its holder
  std::string backup;                   // the board that takes it over if this one dies
  bool backed = false;                  // and has a copy
  std::string moving_to;                // the board that it is to go to
  std::string moved;                    // how it came here, or why it did not go
  bool fleet = false;                   // trains one model with other boards
  std::size_t fleet_boards = 0;         // that have it at work, this one included; 0: not known
  trainer_protocol::GroupStatus group;  // as its trainer told it; round 0: not yet
};

// A recurring task: its windows, and what came of them.
[[nodiscard]] json::Value recurring_json(const core::State& state, const core::Recurring& recurring,
                                         TimeNs now);
// Live and ended tasks in order of acceptance.
[[nodiscard]] std::vector<const core::Task*> tasks_in_order(const core::State& state);
// The state that people are told: the outcome once there is one; "throttled" for a task that runs,
// or would, but for a limit on power or lane time.
[[nodiscard]] std::string_view shown_state(const core::State& state, const core::Task& task);
// One task of the state. A forecast is part of it, so a row costs more than a look.
[[nodiscard]] TaskRow task_row(const core::State& state, const core::Task& task, TimeNs now);
// All tasks in order of acceptance.
[[nodiscard]] std::vector<TaskRow> task_rows(const core::State& state, TimeNs now);
[[nodiscard]] json::Value task_json(const TaskRow& row);

// Power now, the cap and whose it is, what holds it.
[[nodiscard]] json::Value power_json(const core::State& state, TimeNs now);
// The same on one line: "power 11.9 W (modelled), cap 12.0 W by operator for 58m, step-gate 43%".
[[nodiscard]] std::string power_line(const core::State& state, TimeNs now);

}  // namespace laird::agent
