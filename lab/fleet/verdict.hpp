// Did the fleet keep its promises? Worked out from what was recorded outside the boards.
//
// The share of a board is known at every instant: each tells every change with its time, a fall
// before the messages that give the share away leave, a rise after they came, and repeats the
// changes of the last half minute. What an agent did between its last word and its death is not
// known, and is counted as nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/fleet/recording.hpp"

namespace laird::lab {

// A board whose agent went silent and began anew, and its tasks that were not over.
struct Comeback {
  std::string node;
  double silent_at_s = 0.0;
  double back_at_s = 0.0;
  struct Resumed {
    std::string task;
    double samples_before = 0.0;  // its last word
    double samples_after = 0.0;   // the least it said since
  };
  std::vector<Resumed> tasks;
};

// Boards tell the mean of so many seconds, and an older one than this counts no more.
inline constexpr double kDrawnWindowS = 5.0;
inline constexpr double kPowerFreshS = 3.0;
// Power that nobody draws while a task is held back is of no use to anybody. A few seconds say
// nothing of that: after every change the gates open by steps, and the means follow.
inline constexpr double kDrawnThrottledMin = 0.85;
inline constexpr std::uint64_t kThrottledSecondsMin = 20;
// A cap is held on the mean, from readings that come now and then.
inline constexpr double kDrawnTolerance = 0.03;

// The highest value of a curve and when it was, and its mean over time.
struct Spread {
  double peak = 0.0;
  double peak_at_s = 0.0;
  double mean = 0.0;
};
// Of a value that holds from each sample to the next one, and from the last until `end_s`. Where a
// sample is more than `fresh_s` old the value is not known, and that time does not count.
[[nodiscard]] Spread spread_of(const std::vector<Sample>& samples, double end_s,
                               double fresh_s = 1e18);

// How long the board's tasks were throttled, added up over them.
[[nodiscard]] double throttled_s(const FleetRecording& recording, const std::string& node);
// From when to when a task was throttled.
struct Stretch {
  double from_s = 0.0;
  double to_s = 0.0;
};
[[nodiscard]] std::vector<Stretch> throttled_stretches(const RecordedTask& task, double end_s);

struct FleetVerdict {
  std::int64_t whole_parts = 0;
  std::int64_t most_parts = 0;    // of the whole, given out at once
  std::int64_t most_over_mw = 0;  // enforced above the budget, once a cut had time to arrive
  double cut_settled_s = 0.0;     // longest from a cut of the budget to being within it
  // What the boards drew together, against the budget of then: where the first came closest to the
  // second, or exceeded it most.
  double drawn_most_w = 0.0;
  double drawn_budget_w = 0.0;
  double drawn_at_s = 0.0;
  // Of the budget, drawn in the seconds before which some task was throttled and every board was
  // heard for kDrawnWindowS; and how many those were.
  double drawn_throttled_part = 0.0;
  std::uint64_t throttled_seconds = 0;
  std::uint64_t instants = 0;  // at which the sums were checked
  std::uint64_t tasks = 0;
  std::uint64_t tasks_ended = 0;
  std::uint64_t tasks_succeeded = 0;
  std::uint64_t tasks_ended_twice = 0;   // a task with two different ends, or on two boards
  std::uint64_t tasks_out_of_reach = 0;  // by design
  std::uint64_t out_of_reach_succeeded = 0;
  std::uint64_t cuts = 0;  // of the budget
  std::vector<Comeback> comebacks;
  // The same over all of the time: what a curve shows at its top, and its mean.
  Spread drawn;
  Spread enforced;
  std::vector<Sample> enforced_w;  // the sum over time
  std::vector<Sample> budget_w;
  std::vector<Sample> drawn_w;  // at each second, means of kDrawnWindowS

  [[nodiscard]] bool shares_kept() const { return most_parts <= whole_parts; }
  [[nodiscard]] bool budget_kept() const { return most_over_mw <= 0; }
  [[nodiscard]] bool drawn_kept() const {
    return drawn_most_w <= drawn_budget_w * (1.0 + kDrawnTolerance);
  }
  [[nodiscard]] bool drawn_where_wanted() const {
    return throttled_seconds < kThrottledSecondsMin || drawn_throttled_part >= kDrawnThrottledMin;
  }
};

[[nodiscard]] bool is_end(std::string_view state);

// How long a new budget may take to reach every board before the sum is held against it.
inline constexpr std::int64_t kCutGraceUs = 3'000'000;

[[nodiscard]] FleetVerdict judge(const FleetRecording& recording);

// At the optimum: so much of the whole, at most, is on another board than a central answer to the
// same demands would put it on, and that for so long.
inline constexpr double kSettledGap = 0.01;
inline constexpr std::int64_t kSettledForUs = 2'000'000;

// Seconds from that time until the shares were at the optimum; none if they never were, or if the
// demands are not known (take_from_journals has them).
[[nodiscard]] std::optional<double> settled_after_s(const FleetRecording& recording,
                                                    std::int64_t since_unix_us);

}  // namespace laird::lab
