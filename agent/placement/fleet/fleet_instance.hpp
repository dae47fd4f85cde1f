// An instance of the planner made of what is known of a fleet.
//
// A lane runs one task at a time, so a board of the planner is a lane, and the mode is S. What is
// assumed, and said to people:
//  - Every task has its lane to itself, at full speed; tasks that share a lane in turns end later
//    than their own need says, and together at the same time.
//  - Lanes of one board are planned apart: their tasks are not checked against its memory together.
//  - Shares of power and of lane time may slow a board down; nothing of that is foreseen.
//  - Where it is, a task is ended at its deadline, so it holds its lane no longer than that.
// A task that has begun stays on its board; the one that has a lane now keeps it. A task that waits
// may be planned anywhere. Today no task moves by itself, so for those the plan is advice.
#pragma once

#include <cstddef>
#include <map>
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

// The task's name in instances: its own, or "name@board" when several boards have, or had, one.
[[nodiscard]] std::string planned_name(const FleetFacts& facts, const TaskFact& task);

[[nodiscard]] Result<FleetInstance> fleet_instance(const FleetFacts& facts);

// The same, one board at a time, for a task that none has: as long as all others stay where they
// are, boards do not depend on each other. So a fleet of any size can be asked, and what one board
// says cannot spoil the answer for the rest.
class BoardInstances {
 public:
  // Keeps a reference to the facts, which have the new task among theirs.
  BoardInstances(const FleetFacts& facts, std::size_t new_task);
  // The board's lanes of the new task's kind, the board's tasks of that kind and, last, the new
  // task. The error says why it cannot be there.
  [[nodiscard]] Result<FleetInstance> of(std::size_t board) const;

 private:
  const FleetFacts& facts_;
  std::size_t new_task_;
  Speeds speeds_;
  std::size_t slowest_;
  std::map<std::string, std::vector<std::size_t>> tasks_of_;  // by board
};

// Whether there is any lane to plan for.
[[nodiscard]] Status some_lane(const FleetFacts& facts);
// Why the board cannot have the task, whatever else it has; empty if it can.
[[nodiscard]] std::string why_barred(const FleetFacts& facts, std::size_t task, std::size_t board);

// What if: the changes that people ask about. Each says what is wrong with it.
// The board is gone, with all it has: its tasks begin anew elsewhere.
[[nodiscard]] Status without_board(FleetFacts& facts, const std::string& board);
// One more board of that module, which is idle and has every trainer. It is called "new-1" and so
// on.
[[nodiscard]] Status with_board(FleetFacts& facts, BoardFact board);
// Another deadline, in seconds from now.
[[nodiscard]] Status with_deadline(FleetFacts& facts, const std::string& task, double in_s);

}  // namespace laird::placement
