#include "base/duration.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;

TEST(durations_are_said_as_people_say_them) {
  const auto says = [](const char* text, DurationNs d) {
    TEST_ASSERT_EQUAL_STRING(text, spoken(d).c_str());
  };
  says("0 s", 0);
  says("0.1 us", 100);
  says("250 us", 250 * kMicrosecond);
  says("250 ms", 250 * kMillisecond);
  says("1 s", 999'600 * kMicrosecond);
  says("1.5 s", 1500 * kMillisecond);
  says("2 s", 2 * kSecond);
  says("10 s", 9'960 * kMillisecond);
  says("59 s", 59'400 * kMillisecond);
  says("1 min", 59'600 * kMillisecond);
  says("1 min 30 s", 90 * kSecond);
  says("2 min", 2 * kMinute);
  says("59 min 59 s", kHour - kSecond);
  says("1 h", kHour - kSecond / 4);
  says("2 h", 7200 * kSecond);
  says("2 h 5 min", 2 * kHour + 5 * kMinute + 20 * kSecond);
  says("1 d", kDay - kSecond);
  says("3 d 4 h", 3 * kDay + 4 * kHour);
  says("-1 min 30 s", -90 * kSecond);
}

TEST(no_duration_is_too_long_to_say) {
  TEST_ASSERT_TRUE(spoken(kNever).ends_with(" d") || spoken(kNever).ends_with(" h"));
  TEST_ASSERT_TRUE(spoken(std::numeric_limits<DurationNs>::min()).starts_with("-"));
  TEST_ASSERT_EQUAL_STRING("for ever",
                           spoken_seconds(std::numeric_limits<double>::infinity()).c_str());
  TEST_ASSERT_EQUAL_STRING("for ever", spoken_seconds(std::nan("")).c_str());
  TEST_ASSERT_EQUAL_STRING("2 h", spoken_seconds(7.2e3).c_str());
}
