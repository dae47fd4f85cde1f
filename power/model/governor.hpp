// Holds a power cap with a ladder of throttles, the gentlest first.
//
// Rungs in order: cooperative step gate, CPU quota, freezer duty cycle, devfreq cap, nvpmodel mode.
// Each has a level in permille of full; 1000 means it holds nothing back. To lower power the first
// rung not yet at its floor moves; to raise it the last engaged rung moves. One rung per move.
//
// Law: dynamic power is taken as proportional to the moving rung's level, so one move aims straight
// at the target:   level' = level * (target - idle) / (P - idle)
// with P the mean of the readings since the last move took effect and since the throttle last began
// or ceased to hold work back (at most window_ns of them): a mean over both kinds fits neither.
// The model is rough; the readings after the move correct it. Stability comes from when it moves:
//   urgent    the last two readings above the cap by urgent_permille: at once, but within
//             steady_interval_ns of the last move only by twice that, as noise would do less
//   steady    P outside the band around the target: no more than one move per steady_interval_ns
//   raising   only while the throttle really holds work back (held_ns of settle_ns and more). A
//   board that draws less
//             because it has less to do keeps its levels, so the load's return finds the cap held:
//             there is no integral term and nothing that winds up.
//             It waits until no reading was near the target for a while: two seconds at first,
//             twice as long each time a raise had to be taken back at once (a load that comes in
//             bursts), up to raise_wait_max_ns, and half as long after each quiet minute.
//   fine      every fine_interval_ns, the gate alone and by 1 % of the cap at most: towards the
//             target within fine_permille, by all settled readings since the last move. A fine
//             move that takes the last one back doubles the interval, up to kFineWaitMax: then it
//             is the meter's rounding that is being chased.
//   bursts    Power lags, so each time a throttle begins to hold a burst the first readings lie
//             below what it allows. Over many short bursts that would add up: the target is raised
//             by the mean of it, trim_permille of the cap at most, so that the mean is held.
//   cap moved the level follows at once by the same law; a first cap, or a lower one while nothing
//             was held back, starts the gate where the board file's dynamic power puts it, so that
//             there is no overshoot to take back. So does a rise from a cap near idle.
// A cap above what the board draws ends with every level at 1000.
//
// Temperature: at limit_mc and above, an inner cap takes thermal_cut_permille off the power drawn
// every thermal_interval_ns; below the limit by thermal_hysteresis_mc it opens again, more slowly.
// No reading for blind_after_ns with a cap set: the gate goes to blind_level_permille and stays
// until readings return; a board that cannot see must not run free.
//
// Pure: readings, caps and the outcome of moves come in, moves go out. Every number is an integer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/enum_array.hpp"
#include "base/time.hpp"
#include "power/model/board.hpp"

namespace laird::power {

enum class Rung : std::uint8_t { kStepGate, kCpuQuota, kFreezer, kDevfreq, kNvpmodel };
inline constexpr std::size_t kRungCount = 5;

[[nodiscard]] std::string_view name(Rung rung);

inline constexpr std::int32_t kLevelFull = 1000;
inline constexpr std::size_t kRungLevelsMax = 32;
inline constexpr std::int64_t kGovernorPowerMaxMw = 10'000'000;

struct RungConfig {
  bool available = false;
  std::int32_t floor_permille = 100;
  // Allowed levels, ascending, the last 1000; empty for a rung that takes any level.
  std::vector<std::int32_t> levels;

  void archive(Archive& ar);
};

struct GovernorConfig {
  EnumArray<Rung, RungConfig, kRungCount> rungs;
  std::int64_t idle_mw = 0;
  std::int64_t dynamic_mw = 0;         // everything in full use, above idle; 0 for unknown
  std::int32_t target_permille = 998;  // of the cap: the middle of the band
  std::int32_t band_permille = 8;      // half width of the band, of the cap
  std::int32_t urgent_permille = 35;   // above the cap
  DurationNs settle_ns = 300 * kMillisecond;
  DurationNs window_ns = 2 * kSecond;
  DurationNs steady_interval_ns = 2 * kSecond;
  DurationNs raise_wait_max_ns = 32 * kSecond;
  DurationNs fine_interval_ns = 10 * kSecond;
  std::int32_t fine_permille = 2;   // of the cap: what fine tuning leaves alone
  std::int32_t trim_permille = 20;  // of the cap: the most the target is raised for bursts
  DurationNs blind_after_ns = 10 * kSecond;
  std::int32_t blind_level_permille = 500;
  std::int64_t limit_mc = 90'000;
  std::int64_t thermal_hysteresis_mc = 3'000;
  std::int32_t thermal_cut_permille = 80;
  std::int32_t thermal_raise_permille = 40;
  DurationNs thermal_interval_ns = 5 * kSecond;
  // A rung that refused a move is left alone for this long.
  DurationNs retry_ns = kMinute;

  // The board's idle and dynamic power, its temperature limit, and the step gate as the one rung
  // every machine has; the caller adds the rungs it finds it can use.
  [[nodiscard]] static GovernorConfig for_board(const Board& board);
  [[nodiscard]] bool fits_limits() const;
  void archive(Archive& ar);
};

enum class MoveReason : std::uint8_t { kUrgent, kAbove, kBelow, kCapMoved, kBlind, kRelease };

[[nodiscard]] std::string_view name(MoveReason reason);

struct Move {
  Rung rung = Rung::kStepGate;
  std::int32_t level_permille = kLevelFull;
  MoveReason reason = MoveReason::kAbove;
};

enum class KnobResult : std::uint8_t {
  kDone,     // the level read back is the one asked for, or the rounding given
  kRefused,  // not possible now: busy, not permitted
  kPinned,   // something else holds it, as jetson_clocks does when min equals max
};

[[nodiscard]] std::string_view name(KnobResult outcome);

struct GovernorInput {
  TimeNs at = 0;
  std::optional<std::int64_t> total_mw;
  std::optional<std::int64_t> hottest_mc;
  // For how long, up to now, a level below 1000 has held work back without a break; 0 when it does
  // not. A reading soon after it began shows what was before as well.
  DurationNs held_ns = kDay;
};

class Governor {
 public:
  explicit Governor(const GovernorConfig& config = {});

  void set_cap(TimeNs at, std::optional<std::int64_t> cap_mw);
  // At most one move; the caller carries it out and reports back with on_applied.
  [[nodiscard]] std::optional<Move> step(const GovernorInput& input);
  // `actual_permille` is what was read back: a rounded clock, or the old level when refused.
  void on_applied(TimeNs at, Rung rung, KnobResult outcome, std::int32_t actual_permille);
  // Another board file, or other rungs than before: levels stay where they still can.
  void set_config(const GovernorConfig& config);
  // The program started anew: whatever was set beside the gate is gone, readings begin again.
  void on_restart(TimeNs at);
  // When the next step is due even without a reading; kNever for none.
  [[nodiscard]] TimeNs blind_at() const;
  // Everything back to full, the harshest rung first: for exit and for giving the cap up.
  [[nodiscard]] std::vector<Move> release_all(TimeNs at);

  [[nodiscard]] std::int32_t level(Rung rung) const { return rungs_[rung].level; }
  [[nodiscard]] std::optional<std::int64_t> cap_mw() const { return cap_mw_; }
  // The cap in force: the one set, or a lower one for temperature; absent for none.
  [[nodiscard]] std::optional<std::int64_t> effective_cap_mw() const;
  [[nodiscard]] bool throttling() const;
  [[nodiscard]] bool hot() const { return thermal_cap_mw_.has_value(); }
  [[nodiscard]] bool blind() const { return blind_; }
  // True when the cap is exceeded and no rung has anything left to give.
  [[nodiscard]] bool exhausted() const { return exhausted_; }
  [[nodiscard]] std::uint64_t moves() const { return moves_; }
  [[nodiscard]] std::uint64_t roundings() const { return roundings_; }
  void archive(Archive& ar);

 private:
  struct RungState {
    std::int32_t level = kLevelFull;
    std::int32_t asked = kLevelFull;
    bool pinned = false;
    TimeNs refused_until = INT64_MIN;

    void archive(Archive& ar);
  };

  [[nodiscard]] bool fits_limits() const;
  static constexpr std::size_t index(Rung rung) { return static_cast<std::size_t>(rung); }
  [[nodiscard]] bool usable(std::size_t rung, TimeNs at) const;
  [[nodiscard]] std::int32_t next_level(std::size_t rung, std::int64_t num, std::int64_t den,
                                        bool trusted) const;
  std::optional<Move> hold(const GovernorInput& input, std::int64_t cap_mw);
  std::optional<Move> change(TimeNs at, bool lower, std::int64_t mw, std::int64_t target_mw,
                             MoveReason reason);
  std::optional<Move> note_move(TimeNs at, std::size_t rung, std::int32_t level, MoveReason reason);
  void watch_temperature(const GovernorInput& input);
  void remember(const GovernorInput& input);
  std::optional<Move> go_blind(TimeNs at);
  std::optional<Move> follow_cap(TimeNs at);
  std::optional<Move> rise_from_floor(TimeNs at, std::int64_t from_mw, std::int64_t to_mw);
  std::optional<Move> fine_tune(TimeNs at, std::int64_t cap_mw, std::int64_t target_mw);
  void forget_readings();
  std::optional<Move> first_guess(TimeNs at, std::int64_t cap_mw);
  void adapt_wait(TimeNs at, bool taken_back);

  GovernorConfig config_;
  EnumArray<Rung, RungState, kRungCount> rungs_;
  std::optional<std::int64_t> cap_mw_;
  std::optional<std::int64_t> thermal_cap_mw_;
  std::optional<std::int64_t> followed_cap_mw_;  // the cap the levels were last set for
  TimeNs thermal_at_ = INT64_MIN / 2;
  TimeNs moved_at_ = INT64_MIN / 2;
  TimeNs seen_at_ = INT64_MIN / 2;
  bool binding_ = false;
  TimeNs binding_changed_at_ = INT64_MIN / 2;
  TimeNs high_at_ = INT64_MIN / 2;    // the last reading near or above the target
  TimeNs raised_at_ = INT64_MIN / 2;  // the last move upward for want of power
  TimeNs waited_at_ = INT64_MIN / 2;  // when raise_wait_ns_ last changed
  DurationNs raise_wait_ns_ = 0;
  std::int64_t previous_mw_ = -1;  // the reading before this one; -1 after a move
  struct Sum {
    std::int64_t mw = 0;
    std::int64_t count = 0;

    void add(std::int64_t value);
    [[nodiscard]] std::int64_t mean() const { return count > 0 ? mw / count : 0; }
    [[nodiscard]] bool fits_limits() const;
    void archive(Archive& ar);
  };
  Sum tuned_;  // settled readings since the last move
  // Readings while work was held back, all of them and the settled ones; old ones fade.
  Sum held_;
  Sum settled_;
  std::int64_t trim_mw_ = 0;
  TimeNs tuned_at_ = INT64_MIN / 2;
  bool tuned_down_ = false;      // the direction of the last fine move
  DurationNs fine_wait_ns_ = 0;  // beyond fine_interval_ns
  // Readings that count for the mean.
  std::vector<std::int64_t> window_mw_;
  std::vector<TimeNs> window_at_;
  bool blind_ = false;
  bool exhausted_ = false;
  std::uint64_t moves_ = 0;
  std::uint64_t roundings_ = 0;
};

inline constexpr std::size_t kGovernorWindowMax = 256;

}  // namespace laird::power
