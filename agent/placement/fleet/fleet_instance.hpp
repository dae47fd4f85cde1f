// An instance of the planner made of what is known of a fleet.
//
// A lane runs one task at a time, so a board of the planner is a lane, and the mode is S. What is
// assumed, and said to people:
//  - Every task has its lane to itself, at full speed; tasks that share a lane in turns end later
//    than their own need says, and together at the same time.
//  - Lanes of one board are planned apart: their tasks are not checked against its memory together.
//  - Shares of power and of lane time may slow a board down; nothing of that is foreseen.
// A task that has begun stays on its board; the one that has a lane now keeps it. A task that waits
// may be planned anywhere. Today no task moves by itself, so for those the plan is advice.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agent/placement/fleet/facts.hpp"
#include "agent/placement/fleet/speeds.hpp"
#include "agent/placement/planner/instance.hpp"

namespace laird::placement {

// How a time on a board is known.
enum class TimeBasis : std::uint8_t {
  kForecast,  // the task's own forecast
  kEarlier,   // as many samples as the same work took before, to the same target
  kPlanned,   // as many samples as its author planned
  kDeadline,  // nothing is known: half of the time to its deadline
  kHopeless,  // it will miss its target, and holds its lane until its deadline or its last sample
};
[[nodiscard]] std::string_view name(TimeBasis basis);

struct FleetInstance {
  struct Lane {
    std::size_t board = 0;  // of the facts
    std::string lane;
  };
  struct LeftOut {
    std::string task;
    std::string why;
  };
  Instance instance;
  std::vector<Lane> lanes;          // by board of the instance
  std::vector<std::size_t> tasks;   // of the facts, by task of the instance
  std::vector<TimeBasis> known_by;  // by task of the instance
  std::vector<SpeedBasis> speeds;   // by task, then by board of the instance
  std::vector<LeftOut> left_out;

  [[nodiscard]] SpeedBasis speed_basis(std::size_t task, std::size_t board) const {
    return speeds[task * instance.boards.size() + board];
  }
};

// The task's name in instances: its own, or "name@board" when several boards have one.
[[nodiscard]] std::string planned_name(const FleetFacts& facts, const TaskFact& task);

[[nodiscard]] Result<FleetInstance> fleet_instance(const FleetFacts& facts);

// The boards that cannot have the task, with the reason; boards that are away are not told.
struct BarredBoard {
  std::string board;
  std::string why;
};
[[nodiscard]] std::vector<BarredBoard> barred_boards(const FleetFacts& facts, std::size_t task);

// What if: the changes that people ask about. Each says what is wrong with it.
// The board is gone, with all it has: its tasks begin anew elsewhere.
[[nodiscard]] Status without_board(FleetFacts& facts, const std::string& board);
// One more board of that module, which is idle and has every trainer. It is called "new-1" and so
// on.
[[nodiscard]] Status with_board(FleetFacts& facts, BoardFact board);
// Another deadline, in seconds from now.
[[nodiscard]] Status with_deadline(FleetFacts& facts, const std::string& task, double in_s);

}  // namespace laird::placement
