// The state of a board as people and programs see it: one row per task.
#pragma once

#include <string>
#include <vector>

#include "agent/core/state/state.hpp"
#include "agent/placement/need.hpp"
#include "json/value.hpp"

namespace laird::agent {

struct TaskRow {
  std::string name;
  std::string lane;
  std::string state;  // the outcome once there is one
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
  bool fleet = false;            // trains one model with other boards
  std::size_t fleet_boards = 0;  // that take part, this one included; 0: not known
};

// Live tasks in order of acceptance, then the ended ones, newest last.
[[nodiscard]] std::vector<TaskRow> task_rows(const core::State& state, TimeNs now);
[[nodiscard]] json::Value task_json(const TaskRow& row);

// Power now, the cap and whose it is, what holds it.
[[nodiscard]] json::Value power_json(const core::State& state, TimeNs now);
// The same on one line: "power 11.9 W (modelled), cap 12.0 W by operator for 58m, step-gate 43%".
[[nodiscard]] std::string power_line(const core::State& state, TimeNs now);

}  // namespace laird::agent
