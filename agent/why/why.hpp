// Why a task met or missed its deadline: the cause, where its whole time went, what it would
// have needed and what would have saved it.
//
// Source: ours. The time sheet is the core's (agent/core/state/time_sheet.hpp) and exact. What was
// still needed is a forecast: need_of's (agent/placement/need.hpp), or less if the curve alone says
// so. Symbols: W whole time from the acceptance to the end; D from the acceptance to the deadline;
// r time it ran; R further seconds of the whole lane that it needed at the end, the median; L_i
// time lost to the use i, W = r + sum L_i.
//  - Out of reach: r + R is more than kFarBeyond times D; or it is more than D and the target less
//    likely than kUnlikely to be reached at all; or the target is less likely than not to be
//    reached and lies below the forecast's band with the whole lane for kFarBeyond times D; or the
//    trainer did all its planned work.
//  - Late: r + R > D. Even with the whole lane from its acceptance on it would not have done.
//  - Slow start: r + R and the first start together are more than D.
//  - Else some L_i made the difference. The cause is the largest of them that was at least R:
//  giving
//    it back would have sufficed. If none was, it is the largest, and the text names the next.
//  - Fewer than two reports: R is not known, and the cause is the largest L_i, or that nothing was
//    reported if it ran for longer than that.
// Pure, and decides nothing: doubles and rounding are good enough here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/core/state/state.hpp"
#include "agent/placement/earlier_run.hpp"
#include "agent/placement/need.hpp"
#include "base/error.hpp"
#include "json/value.hpp"

namespace laird::why {

enum class Cause : std::uint8_t {
  kNone,         // it succeeded, or nothing stands in its way
  kPower,        // throttled
  kRival,        // another task had its lane
  kMemory,       // there was no room for its trainer
  kCrashes,      // its trainer crashed
  kOutOfMemory,  // its trainer ran out of memory
  kPaused,       // an operator paused it
  kAgentDown,    // the agent was not running
  kPolicy,       // the policy left the lane idle
  kSlowStart,    // its trainer took long to get ready
  kPeers,        // it waited for other boards
  kLate,         // too little time was left when it was submitted
  kOutOfReach,   // its target was
  kNoReports,    // it ran and reported no loss to judge it by
  kCancelled,
};
[[nodiscard]] std::string_view name(Cause cause);

inline constexpr double kReachMin = 0.1;
inline constexpr double kUnlikely = 0.3;
inline constexpr double kFarBeyond = 4.0;

struct Use {
  core::TimeSheetLine line;
  std::string rival;  // the name of the other task, where there is one
};

// What would have saved the task, or would still.
enum class Remedy : std::uint8_t {
  kCap,           // amount: watts
  kWithoutRival,  // task: whose
  kEarlier,       // amount: seconds
  kTarget,        // amount: loss
  kSamples,       // amount: further samples to plan
  kMemory,        // amount: bytes for tasks
  kNoCrash,
  kNoPause,
  kAgentUp,
};
[[nodiscard]] std::string_view name(Remedy remedy);

struct Saver {
  Remedy remedy = Remedy::kCap;
  double amount = 0.0;
  std::string task;
  std::string text;
};

struct Finding {
  std::string task;
  std::string state;  // the outcome once there is one
  Cause cause = Cause::kNone;
  std::string headline;  // the cause in one sentence
  std::string group;     // of a co-training task: who made its model, and what was told of its rows
  bool over = false;
  DurationNs whole = 0;       // from its acceptance to its end, or until now
  DurationNs until_due = 0;   // from its acceptance to its deadline
  std::vector<Use> uses;      // the largest first; they and `unrecorded` add up to `whole`
  DurationNs unrecorded = 0;  // before the agent kept accounts
  placement::Need need;       // at its end, or now
  std::optional<placement::EarlierRun> earlier;  // that its forecast began from
  std::int64_t full_mw = 0;  // what the board draws with the task's lane in full use; 0: not known
  std::vector<Saver> savers;
};

// Of a task of this state, or of one that the state has forgotten since.
[[nodiscard]] Finding finding_of(const core::State& state, const core::Task& task, TimeNs now);
[[nodiscard]] Result<Finding> find_out(const core::State& state, std::string_view task, TimeNs now);

// For people: the headline, the time sheet, the need and the savers, a line each.
[[nodiscard]] std::string text_of(const Finding& finding);
// As docs/schema/why.json says.
[[nodiscard]] json::Value json_of(const Finding& finding);

// "throttled by the operator's cap (8.0 W)", "waiting for 'hog'".
[[nodiscard]] std::string words_of(const Use& use);
// "the operator's cap of 8.0 W", "the fleet's share of 6.0 to 8.5 W"
[[nodiscard]] std::string words_of(core::Throttler by, std::int64_t low, std::int64_t high);

}  // namespace laird::why
