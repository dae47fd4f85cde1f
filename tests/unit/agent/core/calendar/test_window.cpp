// Windows of the week by local time: words, days, midnight, and the nights on which clocks change.
#include <string>

#include "agent/core/calendar/window.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::core;

namespace {

constexpr TimeNs kThursday = 1'795'046'400 * kSecond;  // 2026-11-19 00:00 UTC

WeeklyWindow window(const char* text) {
  const Result<WeeklyWindow> out = parse_weekly_window(text);
  TEST_ASSERT_TRUE_MESSAGE(out.has_value(), text);
  return *out;
}

void assert_at(const char* expected, const Zone& zone, TimeNs wall) {
  TEST_ASSERT_EQUAL_STRING(expected, local_text(zone, wall).c_str());
}

// Central European time around the last Sunday of March 2026, 01:00 UTC, and of October 2026.
Zone spring() { return {kHour, 1'774'746'000 * kSecond, 2 * kHour}; }
Zone autumn() { return {2 * kHour, 1'792'890'000 * kSecond, kHour}; }

}  // namespace

TEST(windows_are_said_as_people_say_them) {
  TEST_ASSERT_EQUAL_STRING("22:00-06:00 daily", text_of(window("22:00-06:00 daily")).c_str());
  TEST_ASSERT_EQUAL_STRING("22:00-06:00 daily", text_of(window("22:00-06:00")).c_str());
  TEST_ASSERT_EQUAL_STRING("09:30-12:00 weekdays", text_of(window("09:30-12:00 mon-fri")).c_str());
  TEST_ASSERT_EQUAL_STRING("01:00-05:00 mon,sat,sun",
                           text_of(window("01:00-05:00 sat-mon")).c_str());
  TEST_ASSERT_EQUAL_STRING("01:00:30-24:00 tue,sat,sun",
                           text_of(window("01:00:30-24:00 tue,weekends")).c_str());
  for (const char* wrong : {"", "22:00", "22-06 daily", "22:00-06:00 nightly", "22:00-06:00daily",
                            "24:00-06:00 daily", "22:60-06:00", "22:00-25:00", "22:00-06:00 mon-",
                            "22:00-06:00 mon,,tue", "22:00-06:00 daily "}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_weekly_window(wrong).has_value(), wrong);
  }
}

TEST(a_window_that_ends_before_it_begins_ends_on_the_next_day) {
  const Zone utc;
  const Window night = window_on(window("22:00-06:00 daily"), utc, day_of(utc, kThursday));
  assert_at("Thu 2026-11-19 22:00", utc, night.begin);
  assert_at("Fri 2026-11-20 06:00", utc, night.end);
  TEST_ASSERT_EQUAL_INT64(kDay, window("06:00-06:00").length());
  TEST_ASSERT_EQUAL_INT64(kDay, window("00:00-24:00").length());
}

TEST(only_the_days_that_are_named_have_a_window) {
  const Zone utc;
  const WeeklyWindow weekend = window("10:00-11:00 sat,sun");
  Window next = window_after(weekend, utc, day_of(utc, kThursday));
  assert_at("Sat 2026-11-21 10:00", utc, next.begin);
  next = window_after(weekend, utc, next.day);
  assert_at("Sun 2026-11-22 10:00", utc, next.begin);
  next = window_after(weekend, utc, next.day);
  assert_at("Sat 2026-11-28 10:00", utc, next.begin);
}

TEST(the_day_whose_window_is_over_is_found_on_both_sides_of_midnight) {
  const Zone utc;
  const WeeklyWindow night = window("22:00-06:00");
  const LocalDay thursday = day_of(utc, kThursday);
  // In the small hours Wednesday's window still runs.
  TEST_ASSERT_EQUAL_INT64(thursday - 2, last_day_over(night, utc, kThursday + 5 * kHour));
  TEST_ASSERT_EQUAL_INT64(thursday - 1, last_day_over(night, utc, kThursday + 6 * kHour));
  TEST_ASSERT_EQUAL_INT64(thursday - 1, last_day_over(night, utc, kThursday + 23 * kHour));
}

TEST(local_time_is_the_boards_own) {
  const Zone east{9 * kHour, kNever, 9 * kHour};
  const Window night = window_after(window("22:00-06:00"), east, day_of(east, kThursday));
  assert_at("Fri 2026-11-20 22:00", east, night.begin);
  TEST_ASSERT_EQUAL_INT64(kThursday + kDay + 13 * kHour, night.begin);
  const Zone west{-5 * kHour, kNever, 0};
  TEST_ASSERT_EQUAL_INT64(day_of(Zone{}, kThursday) - 1, day_of(west, kThursday));
}

TEST(on_the_night_that_clocks_go_forward_the_window_is_an_hour_shorter) {
  const Zone zone = spring();
  const LocalDay saturday = day_of(zone, zone.change_wall) - 1;
  const Window night = window_on(window("22:00-06:00"), zone, saturday);
  TEST_ASSERT_EQUAL_INT64(7 * kHour, night.end - night.begin);
  // One that begins in the hour that is skipped begins at the change.
  const Window early = window_on(window("02:30-04:00"), zone, saturday + 1);
  TEST_ASSERT_EQUAL_INT64(zone.change_wall, early.begin);
  assert_at("Sun 2026-03-29 03:00", zone, early.begin);
  TEST_ASSERT_EQUAL_INT64(kHour, early.end - early.begin);
  // Nothing is left of one that lies in it, and the next day's is the next.
  const Window next = window_after(window("02:10-02:50"), zone, saturday);
  assert_at("Mon 2026-03-30 02:10", zone, next.begin);
}

TEST(on_the_night_that_clocks_go_back_the_window_is_an_hour_longer_and_comes_once) {
  const Zone zone = autumn();
  const LocalDay saturday = day_of(zone, zone.change_wall) - 1;
  const Window night = window_on(window("22:00-06:00"), zone, saturday);
  TEST_ASSERT_EQUAL_INT64(9 * kHour, night.end - night.begin);
  // In the hour that comes twice the first counts.
  const Window twice = window_on(window("02:15-02:45"), zone, saturday + 1);
  TEST_ASSERT_EQUAL_INT64(30 * kMinute, twice.end - twice.begin);
  TEST_ASSERT_TRUE(twice.end < zone.change_wall);
  TEST_ASSERT_EQUAL_INT64(saturday + 1,
                          last_day_over(window("02:15-02:45"), zone, zone.change_wall));
  assert_at("Mon 2026-10-26 02:15", zone,
            window_after(window("02:15-02:45"), zone, saturday + 1).begin);
}

TEST(every_instant_of_a_year_is_in_at_most_one_window) {
  const Zone zone = autumn();
  for (const char* text : {"22:00-06:00", "00:00-24:00", "02:30-02:30", "12:00-13:00 mon,thu"}) {
    const WeeklyWindow weekly = window(text);
    LocalDay day = day_of(zone, zone.change_wall) - 200;
    TimeNs end = 0;
    for (int i = 0; i < 300; ++i) {
      const Window next = window_after(weekly, zone, day);
      TEST_ASSERT_TRUE_MESSAGE(next.begin >= end && next.end > next.begin, text);
      TEST_ASSERT_EQUAL_INT64(next.day, day_of(zone, next.begin));
      TEST_ASSERT_TRUE(last_day_over(weekly, zone, next.end) >= next.day);
      TEST_ASSERT_TRUE(last_day_over(weekly, zone, next.end - 1) < next.day);
      end = next.end;
      day = next.day;
    }
  }
}
