#include "config/units.hpp"

#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::config;

TEST(durations_are_exact_integers) {
  TEST_ASSERT_EQUAL_INT64(90 * kSecond, *parse_duration("90s"));
  TEST_ASSERT_EQUAL_INT64(100 * kMillisecond, *parse_duration("0.1s"));
  TEST_ASSERT_EQUAL_INT64(90 * kMinute, *parse_duration("1.5h"));
  TEST_ASSERT_EQUAL_INT64(86400 * kSecond, *parse_duration("1 d"));
}

TEST(a_bare_number_is_refused_with_what_to_write) {
  const auto r = parse_duration("90");
  TEST_ASSERT_FALSE(r.has_value());
  TEST_ASSERT_NOT_NULL(strstr(r.error().context.c_str(), "has no unit"));
  TEST_ASSERT_NOT_NULL(strstr(r.error().context.c_str(), "\"90s\""));
}

TEST(refuses_garbage_and_overflow) {
  for (const char* bad : {"", "s", "-5s", "1e3s", "5 parsecs", "1.s", "99999999999999999999s",
                          "300000000000d", "1.12345678901s", "5s "}) {
    TEST_ASSERT_FALSE_MESSAGE(parse_duration(bad).has_value(), bad);
  }
}

TEST(sizes_and_powers_know_their_units) {
  TEST_ASSERT_EQUAL_INT64(512'000'000, *parse_size("512MB"));
  TEST_ASSERT_EQUAL_INT64(4LL << 30, *parse_size("4GiB"));
  TEST_ASSERT_EQUAL_INT64(7500, *parse_power("7.5W"));
  TEST_ASSERT_FALSE(parse_power("7.5").has_value());
}

TEST(formatting_is_the_inverse_of_parsing) {
  for (const DurationNs v : {DurationNs{1}, 1500 * kMillisecond, 90 * kSecond, 2 * kHour, kDay}) {
    TEST_ASSERT_EQUAL_INT64(v, *parse_duration(format_duration(v)));
  }
  TEST_ASSERT_EQUAL_STRING("1500ms", format_duration(1500 * kMillisecond).c_str());
  TEST_ASSERT_EQUAL_STRING("0s", format_duration(0).c_str());
}
