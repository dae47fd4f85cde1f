// What a plan is made for: tasks, boards, and what each task takes on each board. Plain data in
// integers (seconds, megabytes, thousandths of a GPU), so that every machine computes the same plan
// from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::placement {

using Seconds = std::int64_t;

// Later than any plan reaches: "never" for deadlines, "for good" for closed boards.
inline constexpr Seconds kForever = 1'000'000'000'000;
inline constexpr Seconds kSecondsMax = 1'000'000'000;
inline constexpr std::int64_t kMemoryMbMax = 1'000'000'000;
inline constexpr std::int64_t kWeightMax = 1'000'000;
inline constexpr std::int64_t kEnergyMax = 1'000'000'000'000;
inline constexpr int kGpuWhole = 1000;  // thousandths
inline constexpr int kLanesMax = 1000;
inline constexpr std::size_t kPlannedBoardsMax = 2'048;  // a fleet's members, two lanes each
inline constexpr std::size_t kPlannedTasksMax = 20'000;
inline constexpr std::size_t kPlannedPairsMax = 4'000'000;
inline constexpr std::size_t kClosedMax = 1'000;  // windows of one board

enum class Mode : std::uint8_t {
  kSerial,      // S: one task at a time on a board
  kConcurrent,  // C: as many as fit into GPU, memory and lanes; how they slow each other is ignored
};
[[nodiscard]] std::string_view name(Mode mode);

struct Window {
  Seconds from_s = 0;
  Seconds to_s = kForever;
};

struct PlannedBoard {
  std::string name;
  std::string kind;
  std::int64_t memory_mb = 0;
  int gpu = kGpuWhole;
  int lanes = 0;               // most tasks at once in mode C; 0: no limit of its own
  std::vector<Window> closed;  // no task runs in these; ascending, apart from each other
};

struct PlannedTask {
  std::string name;
  std::int64_t memory_mb = 0;
  Seconds deadline_s = kForever;
  std::int64_t weight = 1;  // what meeting the deadline is worth
  int apart = -1;           // tasks of one group are on different boards; -1: of no group
  int running = -1;         // the board that it runs on now and stays on; -1: not started
  bool splittable = false;
  // The 10% and 90% quantiles of the need, in thousandths of its median. A deadline counts as met
  // when the 90% need fits before it.
  int low_permille = 1000;
  int high_permille = 1000;
};

// One task on one board.
struct Choice {
  Seconds time_s = 0;   // the median need at this board's speed; 0: nothing is known, not there
  Seconds ready_s = 0;  // its data are on the board from then on
  std::int64_t energy_j = 0;
  int gpu = 0;  // thousandths
  bool allowed = true;
  bool preferred = true;
};

struct Instance {
  std::string name;
  Mode mode = Mode::kSerial;
  std::vector<PlannedBoard> boards;
  std::vector<PlannedTask> tasks;
  std::vector<Choice> choices;  // by task, then by board

  [[nodiscard]] const Choice& choice(std::size_t task, std::size_t board) const {
    return choices[task * boards.size() + board];
  }
  [[nodiscard]] Choice& choice(std::size_t task, std::size_t board) {
    return choices[task * boards.size() + board];
  }
  [[nodiscard]] bool may_run(std::size_t task, std::size_t board) const;
};

// Why the task cannot be on that board, in words; empty if it can.
[[nodiscard]] std::string why_not(const Instance& instance, std::size_t task, std::size_t board);

// Whether the numbers are in range and belong together. Says nothing about whether a plan exists.
[[nodiscard]] Status check(const Instance& instance);

// Whether every task has a board. The error names the first one that has none, and why.
[[nodiscard]] Status every_task_has_a_board(const Instance& instance);

// The most tasks at once on a board.
[[nodiscard]] int lanes_of(const Instance& instance, std::size_t board);

// The latest moment at which the task may start on the board and still count as in time.
[[nodiscard]] Seconds latest_start(const Instance& instance, std::size_t task, std::size_t board);

}  // namespace laird::placement
