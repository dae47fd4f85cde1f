#include "consensus/timing.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

TEST(a_short_lease_is_halved_and_a_long_one_keeps_the_time_of_a_settlement) {
  TEST_ASSERT_EQUAL_INT64(10 * kSecond, silence_limit(20 * kSecond, kSecond));
  TEST_ASSERT_EQUAL_INT64(15 * kSecond, silence_limit(30 * kSecond, kSecond));
  TEST_ASSERT_EQUAL_INT64(42 * kSecond, silence_limit(60 * kSecond, kSecond));
}

// The silent board's own clock may be slow and its neighbours' clocks fast, each by the drift.
TEST(a_board_is_fenced_before_its_neighbours_close_whatever_the_clocks_do) {
  for (int ticks = kLedgerLeaseTicksMin; ticks <= 1000; ++ticks) {
    for (const std::uint32_t ppm : {0U, 200U, 10'000U, 50'000U}) {
      const DurationNs silence = silence_limit(ticks * kSecond, kSecond);
      const double fenced_true =
          static_cast<double>(fence_age(silence, kSecond, ppm) + kSecond) * (1.0 + ppm * 1e-6);
      const double closed_true = static_cast<double>(silence) * (1.0 - ppm * 1e-6);
      TEST_ASSERT_TRUE(fenced_true <= closed_true + 1e-6 * static_cast<double>(silence));
      TEST_ASSERT_TRUE(fence_age(silence, kSecond, ppm) > 0);
    }
  }
}

TEST(keepers_hear_of_silence_before_the_edge_is_closed_at_every_lease) {
  for (int ticks = kLedgerLeaseTicksMin; ticks <= 1000; ++ticks) {
    const DurationNs silence = silence_limit(ticks * kSecond, kSecond);
    const DurationNs lead = suspicion_lead(silence, kSecond);
    TEST_ASSERT_TRUE(lead > 0 && lead < silence);
    TEST_ASSERT_TRUE(reminder_interval(silence) < silence);
  }
}
