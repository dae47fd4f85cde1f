#include "agent/core/calendar/window.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace laird::core {
namespace {

constexpr std::uint32_t kDaySeconds = 86'400;
constexpr int kWeek = 7;
constexpr std::uint8_t kEveryDay = 0x7F;
constexpr std::uint8_t kWeekdays = 0x1F;
constexpr std::uint8_t kWeekends = 0x60;
constexpr std::array<std::string_view, kWeek> kDayNames = {"mon", "tue", "wed", "thu",
                                                           "fri", "sat", "sun"};
constexpr std::array<std::string_view, kWeek> kDayTitles = {"Mon", "Tue", "Wed", "Thu",
                                                            "Fri", "Sat", "Sun"};
// No place on Earth is further from UTC.
constexpr DurationNs kOffsetMax = 26 * kHour;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// 0 is Monday.
int weekday_of(LocalDay day) {
  return static_cast<int>(day + 3 - kWeek * floor_div(day + 3, kWeek));
}

}  // namespace

bool Zone::fits_limits() const {
  const auto fits = [](DurationNs by) { return by >= -kOffsetMax && by <= kOffsetMax; };
  return fits(offset) && fits(offset_after) && change_wall >= 0;
}

TimeNs Zone::local(TimeNs wall) const {
  return wall + (wall < change_wall ? offset : offset_after);
}

TimeNs Zone::wall(TimeNs local) const {
  if (local - offset < change_wall) return local - offset;
  return std::max(local - offset_after, change_wall);
}

bool WeeklyWindow::fits_limits() const {
  return days <= kEveryDay && from_s < kDaySeconds && until_s <= kDaySeconds;
}

DurationNs WeeklyWindow::length() const {
  const std::int64_t until = until_s > from_s ? until_s : std::int64_t{until_s} + kDaySeconds;
  return (until - from_s) * kSecond;
}

bool WeeklyWindow::is_on(LocalDay day) const { return (days >> weekday_of(day) & 1) != 0; }

LocalDay day_of(const Zone& zone, TimeNs wall) { return floor_div(zone.local(wall), kDay); }

Window window_on(const WeeklyWindow& weekly, const Zone& zone, LocalDay day) {
  const TimeNs from = day * kDay + weekly.from_s * kSecond;
  return {day, zone.wall(from), zone.wall(from + weekly.length())};
}

LocalDay last_day_over(const WeeklyWindow& weekly, const Zone& zone, TimeNs wall) {
  LocalDay day = day_of(zone, wall) + 1;
  while (window_on(weekly, zone, day).end > wall) --day;
  return day;
}

Window window_after(const WeeklyWindow& weekly, const Zone& zone, LocalDay day) {
  // Only a change of the clock can leave nothing of a window, and there is one change.
  for (int tries = 0; tries < 2 * kWeek; ++tries) {
    ++day;
    if (!weekly.is_on(day)) continue;
    const Window out = window_on(weekly, zone, day);
    if (out.end > out.begin) return out;
  }
  return {day, kNever, kNever};
}

namespace {

// "22:00" or "22:00:30" at the front of `text`, which is taken away.
std::optional<std::uint32_t> take_clock(std::string_view& text) {
  const auto two = [&](std::uint32_t most) -> std::optional<std::uint32_t> {
    if (text.size() < 2 || text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9') {
      return std::nullopt;
    }
    const auto value = static_cast<std::uint32_t>((text[0] - '0') * 10 + (text[1] - '0'));
    text.remove_prefix(2);
    if (value > most) return std::nullopt;
    return value;
  };
  const auto hours = two(24);
  if (!hours || !text.starts_with(':')) return std::nullopt;
  text.remove_prefix(1);
  const auto minutes = two(59);
  if (!minutes) return std::nullopt;
  std::uint32_t seconds = 0;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const auto given = two(59);
    if (!given) return std::nullopt;
    seconds = *given;
  }
  const std::uint32_t out = *hours * 3600 + *minutes * 60 + seconds;
  if (out > kDaySeconds) return std::nullopt;
  return out;
}

std::optional<int> day_named(std::string_view text) {
  const auto found = std::find(kDayNames.begin(), kDayNames.end(), text);
  if (found == kDayNames.end()) return std::nullopt;
  return static_cast<int>(found - kDayNames.begin());
}

// "mon", "mon-fri" (also over the end of the week) or one of the words.
std::optional<std::uint8_t> days_named(std::string_view text) {
  if (text == "daily") return kEveryDay;
  if (text == "weekdays") return kWeekdays;
  if (text == "weekends") return kWeekends;
  const std::size_t dash = text.find('-');
  const auto first = day_named(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : day_named(text.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  std::uint8_t out = 0;
  for (int day = *first;; day = (day + 1) % kWeek) {
    out = static_cast<std::uint8_t>(out | 1u << day);
    if (day == *last) return out;
  }
}

std::optional<std::uint8_t> parse_days(std::string_view text) {
  std::uint8_t out = 0;
  for (;;) {
    const std::size_t comma = text.find(',');
    const auto days = days_named(text.substr(0, comma));
    if (!days) return std::nullopt;
    out = static_cast<std::uint8_t>(out | *days);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

std::string two_digits(std::int64_t value) {
  return std::string(value < 10 ? "0" : "") + std::to_string(value);
}

std::string clock_text(std::uint32_t seconds) {
  std::string out = two_digits(seconds / 3600) + ":" + two_digits(seconds / 60 % 60);
  if (seconds % 60 != 0) out += ":" + two_digits(seconds % 60);
  return out;
}

std::string days_text(std::uint8_t days) {
  if (days == kEveryDay) return "daily";
  if (days == kWeekdays) return "weekdays";
  if (days == kWeekends) return "weekends";
  std::string out;
  for (int day = 0; day < kWeek; ++day) {
    if ((days >> day & 1) == 0) continue;
    out += (out.empty() ? "" : ",") + std::string(kDayNames[static_cast<std::size_t>(day)]);
  }
  return out;
}

// Of the Gregorian calendar, for days from 1970 on; years are counted from March.
std::string date_text(LocalDay day) {
  const std::int64_t shifted = day + 719'468;
  const std::int64_t era = floor_div(shifted, 146'097);
  const std::int64_t of_era = shifted - era * 146'097;
  const std::int64_t year_of_era =
      (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_shifted = (5 * of_year + 2) / 153;
  const std::int64_t month = month_shifted < 10 ? month_shifted + 3 : month_shifted - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  return std::to_string(year) + "-" + two_digits(month) + "-" +
         two_digits(of_year - (153 * month_shifted + 2) / 5 + 1);
}

}  // namespace

Result<WeeklyWindow> parse_weekly_window(std::string_view text) {
  const Error wrong{Code::kInvalid,
                    "expected a window of the day and its days, like \"22:00-06:00 daily\", "
                    "\"09:30-12:00 mon-fri\" or \"01:00-05:00 sat,sun\""};
  WeeklyWindow out;
  const auto from = take_clock(text);
  if (!from || *from >= kDaySeconds || !text.starts_with('-')) return tl::make_unexpected(wrong);
  text.remove_prefix(1);
  const auto until = take_clock(text);
  if (!until) return tl::make_unexpected(wrong);
  out.from_s = *from;
  out.until_s = *until;
  out.days = kEveryDay;
  if (!text.empty()) {
    if (!text.starts_with(' ')) return tl::make_unexpected(wrong);
    const auto days = parse_days(text.substr(1));
    if (!days) return tl::make_unexpected(wrong);
    out.days = *days;
  }
  return out;
}

std::string text_of(const WeeklyWindow& window) {
  return clock_text(window.from_s) + "-" + clock_text(window.until_s) + " " +
         days_text(window.days);
}

std::string local_text(const Zone& zone, TimeNs wall) {
  const LocalDay day = day_of(zone, wall);
  const auto of_day = static_cast<std::uint32_t>((zone.local(wall) - day * kDay) / kSecond);
  return std::string(kDayTitles[static_cast<std::size_t>(weekday_of(day))]) + " " + date_text(day) +
         " " + clock_text(of_day);
}

}  // namespace laird::core
