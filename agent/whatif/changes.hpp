// What is to be different when a recorded life is run again.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/core/state/event.hpp"
#include "agent/whatif/recording.hpp"

namespace laird::whatif {

// From `after` the life's begin on; nothing: no limit.
struct LimitFrom {
  DurationNs after = 0;
  std::optional<std::int64_t> mw;
};

// Of a task that recurs: of each of its runs.
struct TaskEdit {
  std::string task;
  std::optional<DurationNs> deadline_after;  // its acceptance
  DurationNs deadline_add = 0;
  std::optional<double> target_loss;
  std::optional<std::uint32_t> weight_milli;
};

// One more task, which learns and costs as a recorded one does.
struct AddedTask {
  std::string name;
  std::string like;
  std::string board = {};  // of a fleet; empty: the one that had the other
};

// Another Jetson in the board's place. Its trainers are as fast as they were: no board file says
// how fast a board trains.
struct OtherBoard {
  std::string name;
  core::PowerConfig power;
  power::MeterConfig meter;
  std::int64_t memory_bytes = 0;  // 0: as it was
};

// One more board of a fleet: as `like` is, with its lanes, trainers, settings and floor, but with
// no task of its own.
struct AddedBoard {
  std::string name;
  std::string like;
  std::optional<OtherBoard> module;  // its power and memory, where they are not those of `like`
};

// A task that another board of the fleet gets, at the moment at which it came.
struct MovedTask {
  std::string task;
  std::string board;
};

struct Changes {
  std::optional<std::string> policy;
  std::optional<DurationNs> slice;
  std::vector<LimitFrom> caps;     // ascending; in place of every cap but the fleet's
  std::vector<LimitFrom> budgets;  // ascending; the fleet's
  std::vector<core::LaneConfig> lanes;
  std::optional<OtherBoard> board;
  std::vector<TaskEdit> edits;
  std::vector<std::string> without;
  std::vector<AddedTask> added;
  double speed = 1.0;     // of every trainer
  bool as_fleet = false;  // its boards' ledgers run again, whatever else is changed
  // Of a fleet alone, whose ledgers run again (fleet_rerun.hpp).
  std::vector<std::string> boards_without;
  std::vector<AddedBoard> boards_added;
  std::vector<MovedTask> moved;

  [[nodiscard]] bool none() const;
  // What only a fleet that runs again as a whole can be asked for; nullptr: nothing of it.
  [[nodiscard]] const char* of_a_fleet() const;
  // Whether the boards' ledgers have to run again for it where they can.
  [[nodiscard]] bool wants_fleet() const {
    return as_fleet || of_a_fleet() != nullptr || !budgets.empty();
  }
  // Whether they fit the recordings: each task is in one of them, and may be changed so.
  [[nodiscard]] Status fit(std::span<const Recording* const> boards) const;
  // What of it concerns the tasks of this board.
  [[nodiscard]] Changes of_board(const Recording& recording) const;
  [[nodiscard]] bool drops(const std::string& task) const;
  void edit(core::TaskSpec& spec) const;
  [[nodiscard]] core::CoreConfig changed(const core::CoreConfig& config) const;
  // The fleet's limits under another budget: what a board had above its floor is the same part of
  // what is divided above all floors.
  [[nodiscard]] FleetLimits changed(const FleetLimits& limits, DurationNs after_begin) const;
};

}  // namespace laird::whatif
