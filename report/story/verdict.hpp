// Was it good? The stories of one board or of a fleet, held against what was promised.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/story/story.hpp"

namespace laird::story {

// Boards' clocks differ: more than the whole counts only if it lasted longer than this.
inline constexpr DurationNs kClockSlack = kSecond;
// How long a new budget may take to reach every board.
inline constexpr DurationNs kBudgetGrace = 3 * kSecond;

struct TaskCounts {
  std::uint64_t all = 0;
  std::uint64_t met = 0;
  std::uint64_t missed = 0;
  std::uint64_t exhausted = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t open = 0;  // not over when the journal ended
};

// What the boards held of the fleet's power together. Only of journals of two boards and more.
struct SharesKept {
  bool judged = false;
  std::uint64_t instants = 0;       // at which the sums were worked out
  double most_part = 0.0;           // of the whole, given out at once
  DurationNs longest_over_ns = 0;   // the longest that more than the whole was given out
  double most_over_budget_w = 0.0;  // caps of all boards above the budget, after its grace
  DurationNs longest_over_budget_ns = 0;
};

enum class Mark : std::uint8_t { kGood, kBad, kNote };
struct Sentence {
  Mark mark = Mark::kNote;
  std::string text;
};

struct Verdict {
  TaskCounts tasks;
  double energy_j = 0.0;        // of the boards
  double energy_tasks_j = 0.0;  // of their tasks
  bool metered = false;
  std::uint64_t breaches = 0;
  DurationNs over_cap_ns = 0;
  DurationNs capped_ns = 0;
  double over_cap_most_w = 0.0;
  std::uint64_t crashes = 0;
  SharesKept shares;
  std::vector<Sentence> sentences;  // the most important first
};

[[nodiscard]] TaskCounts count_tasks(std::span<const BoardStory> boards);
[[nodiscard]] SharesKept judge_shares(std::span<const BoardStory> boards);
[[nodiscard]] Verdict judge(std::span<const BoardStory> boards);

// The boards' sum of a value over time, each holding its last one.
struct SumPoint {
  TimeNs wall = 0;
  double value = 0.0;
};
// Of the caps that the fleet gave its boards, in watts.
[[nodiscard]] std::vector<SumPoint> caps_sum(std::span<const BoardStory> boards);
// The fleet's budget, in watts, as the boards learned it; below zero: none.
[[nodiscard]] std::vector<SumPoint> budget_of(std::span<const BoardStory> boards);

}  // namespace laird::story
