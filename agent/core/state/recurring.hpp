// A recurring task: one that is done again in each of its windows. What recurs is kept here; each
// run of it is a task like any other, made by the core when a window begins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/core/calendar/window.hpp"
#include "agent/core/state/limits.hpp"
#include "agent/core/state/task.hpp"
#include "base/archive.hpp"
#include "base/time.hpp"

namespace laird::core {

// Runs of "night" are "night-1", "night-2" and so on, up to a million of them.
inline constexpr std::size_t kRunSuffixBytesMax = 8;
inline constexpr std::size_t kRecurringNameBytesMax = kNameBytesMax - kRunSuffixBytesMax;
inline constexpr std::uint64_t kRunsMax = 1'000'000;
// What a clock may be set back without anybody calling that another day, and how long one that was
// set back further has to stand before it is believed: a board without a battery begins with an old
// clock and gets the time a little later.
inline constexpr DurationNs kClockBackMax = kHour;
inline constexpr DurationNs kClockBelievedAfter = 10 * kMinute;
// Windows further back are not counted as missed.
inline constexpr LocalDay kMissedDaysMax = 366;

enum class RecurringState : std::uint8_t {
  kScheduled,
  kPaused,     // by an operator: windows pass, and are not missed
  kCancelled,  // kept so that its name is known
};
[[nodiscard]] std::string_view name(RecurringState state);

struct Recurring {
  TaskKey key = 0;
  TaskSpec spec;  // what each run is to be
  RecurringState state = RecurringState::kScheduled;
  std::string reason;  // what the present window waits for; who paused or cancelled it
  TimeNs accepted_at = 0;
  LocalDay last_day = 0;  // the newest day whose window has had its run, or is over
  TimeNs due_wall = 0;    // when it is to be looked at next
  bool waiting = false;   // in a window whose run cannot begin yet
  TimeNs back_since = 0;  // since when the clock is before the last window, in agent time; 0: not
  std::uint64_t runs = 0;
  std::uint64_t missed = 0;
  TimeNs missed_wall = 0;  // when the last window that was missed began; 0: none was
  std::string missed_why;
  TaskKey run = 0;                     // the newest
  TaskKey model_of = 0;                // the newest that left a checkpoint; 0: none did
  std::uint64_t submitted_digest = 0;  // as of a task

  [[nodiscard]] bool is_over() const { return state == RecurringState::kCancelled; }
  [[nodiscard]] bool fits_limits() const;
  void archive(Archive& ar);
};

}  // namespace laird::core
