// What a task's time went to, from its acceptance to its end: every nanosecond of it, once.
//
// Between two events the state stands still, so each stretch between them has one use for each
// task, or two that divide it (a task that runs at half the clock ran for half of it). The step
// works that out (agent/core/step/time_sheet.hpp), here it is added up. The time sheet is part of
// the state and so of every snapshot: an agent that restarts goes on with it, and a journal whose
// first files are gone still tells the whole of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/time.hpp"

namespace laird::core {

enum class TimeUse : std::uint8_t {
  kRunning,      // its trainer worked
  kStarting,     // its trainer was getting ready
  kQueued,       // accepted, and its trainer was not started yet
  kThrottled,    // a limit on power or on lane time held it back: `by` says whose
  kRival,        // ready, and `rival` had the lane
  kMemory,       // there was no room for its trainer beside `rival`
  kCrashed,      // its trainer crashed: the wait, the new start, and the work that was lost
  kOutOfMemory,  // the same, because memory ran out
  kPaused,       // by an operator
  kPassedOver,   // ready, its lane free, and the policy chose nobody
  kCheckpoint,   // told to make way for the next, it finished its batch and wrote a checkpoint
  kPeers,        // a co-training task that waited for other boards
  kAgentDown,    // the agent was not running, or was about to stop
  kFinishing,    // its outcome was decided and its trainer was ending
};
inline constexpr std::size_t kTimeUses = 14;
[[nodiscard]] std::string_view name(TimeUse use);

// Whose limit held a task back. The first five are those of CapSource, in its order.
enum class Throttler : std::uint8_t {
  kNone,         // a cap that is gone: the governor was still letting go
  kConfig,       // the cap in the board's config
  kOperator,     // the operator's cap
  kFleet,        // the board's share of the fleet's power
  kTemperature,  // the board was hot
  kFenced,       // the board was cut off from its fleet and had its floor of the power only
  kFleetTime,    // the board's share of the fleet's cpus or gpus
};
[[nodiscard]] std::string_view name(Throttler by);

// Which line of the time sheet a stretch belongs to.
struct UseKey {
  TimeUse use = TimeUse::kRunning;
  Throttler by = Throttler::kNone;
  std::uint32_t rival = 0;  // a task's key; 0: several others, beyond those that have a line
  bool operator==(const UseKey&) const = default;
};

struct TimeSheetLine {
  UseKey key;
  DurationNs ns = 0;
  std::uint32_t times = 0;      // crashes, pauses, restarts of the agent
  std::int64_t limit_low = 0;   // throttled: the lowest and the highest limit that was in force,
  std::int64_t limit_high = 0;  // in mW; of kFleetTime in millionths of the lane's time
  void archive(Archive& ar);
};

// Rivals that have a line of their own, for each kind of waiting; the rest share one.
inline constexpr std::size_t kRivalsMax = 8;
inline constexpr std::size_t kTimeSheetLinesMax = 48;
inline constexpr std::size_t kPausedByBytesMax = 64;

class TimeSheet {
 public:
  void add(const UseKey& key, DurationNs ns);
  // The same for a limit that was in force meanwhile.
  void add_throttled(Throttler by, std::int64_t limit, DurationNs ns);
  void count(TimeUse use);
  // What the trainer did is safe up to now.
  void saved() { unsaved_ns_ = 0; }
  // What it did since then is lost, and was time spent on `use`.
  void lost(TimeUse use);

  [[nodiscard]] const std::vector<TimeSheetLine>& lines() const { return lines_; }
  [[nodiscard]] DurationNs total() const;
  [[nodiscard]] DurationNs of(TimeUse use) const;  // of all its lines
  [[nodiscard]] std::uint32_t times(TimeUse use) const;

  std::string crash;      // why its trainer crashed the last time
  std::string paused_by;  // the operator who paused it last; empty: somebody at the board

  void archive(Archive& ar);
  [[nodiscard]] bool fits_limits() const;

 private:
  TimeSheetLine& line(const UseKey& key);

  std::vector<TimeSheetLine> lines_;  // in the order in which they were first needed
  DurationNs unsaved_ns_ = 0;         // of kRunning, since the last checkpoint
};

// Whether a trainer's end, in the words of a crash, was the lack of memory.
[[nodiscard]] bool is_out_of_memory(std::string_view why);

}  // namespace laird::core
