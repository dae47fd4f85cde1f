// Windows of the week by local time ("22:00-06:00 mon-fri"), and what local time is to a core that
// may not ask: an offset, and the next change of it, as data.
//
// A window belongs to the local day on which it begins and lasts a day at most, so no two overlap.
// A clock time that summer time skips stands for the moment of the change; one that comes twice for
// the first time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace laird::core {

// Days are counted from 1970-01-01, which was a Thursday.
using LocalDay = std::int64_t;

// Local time is the wall clock plus `offset`, and plus `offset_after` from `change_wall` on.
struct Zone {
  DurationNs offset = 0;
  TimeNs change_wall = kNever;
  DurationNs offset_after = 0;

  [[nodiscard]] bool operator==(const Zone&) const = default;
  [[nodiscard]] bool fits_limits() const;
  [[nodiscard]] TimeNs local(TimeNs wall) const;
  // The wall clock's first time at which local clocks read `local` or later.
  [[nodiscard]] TimeNs wall(TimeNs local) const;
  void archive(Archive& ar) { ar(offset, change_wall, offset_after); }
};

// Days, and from when to when. `until` at or before `from` is on the next day.
struct WeeklyWindow {
  std::uint8_t days = 0;     // bit 0 is Monday; 0: there is no window at all
  std::uint32_t from_s = 0;  // seconds after midnight
  std::uint32_t until_s = 0;

  [[nodiscard]] bool operator==(const WeeklyWindow&) const = default;
  [[nodiscard]] bool wanted() const { return days != 0; }
  [[nodiscard]] bool fits_limits() const;
  [[nodiscard]] DurationNs length() const;  // as the clock counts
  [[nodiscard]] bool is_on(LocalDay day) const;
  void archive(Archive& ar) {
    ar(days);
    ar(from_s, until_s);
  }
};

// One of them, by the wall clock.
struct Window {
  LocalDay day = 0;
  TimeNs begin = 0;
  TimeNs end = 0;
};

[[nodiscard]] LocalDay day_of(const Zone& zone, TimeNs wall);
[[nodiscard]] Window window_on(const WeeklyWindow& weekly, const Zone& zone, LocalDay day);
// The newest day whose window, if it has one, is over.
[[nodiscard]] LocalDay last_day_over(const WeeklyWindow& weekly, const Zone& zone, TimeNs wall);
// The first window after `day` that summer time leaves something of.
[[nodiscard]] Window window_after(const WeeklyWindow& weekly, const Zone& zone, LocalDay day);

// "22:00-06:00 daily", "09:30-12:00 mon-fri", "01:00:30-02:00 sat,sun", "weekdays", "weekends".
[[nodiscard]] Result<WeeklyWindow> parse_weekly_window(std::string_view text);
[[nodiscard]] std::string text_of(const WeeklyWindow& window);
// "Thu 2026-11-19 22:00" by local time.
[[nodiscard]] std::string local_text(const Zone& zone, TimeNs wall);

}  // namespace laird::core
