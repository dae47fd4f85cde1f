#include "lab/ledger/schedule.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

namespace {

int breaks(const ScheduleLimits& limits, std::uint64_t first, std::uint64_t count) {
  int broken = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    broken += run_schedule(limits, seed).first_break.empty() ? 0 : 1;
  }
  return broken;
}

ScheduleLimits small() {
  ScheduleLimits limits;
  limits.nodes_max = 12;
  return limits;
}

}  // namespace

TEST(no_schedule_exceeds_the_budget) { TEST_ASSERT_EQUAL_INT(0, breaks(small(), 1, 25)); }

// Seeds that broke earlier versions of the settlement rules.
TEST(schedules_that_once_broke_hold) {
  for (const std::uint64_t seed :
       {1136ULL, 1224ULL, 1630ULL, 2444ULL, 20226ULL, 22108ULL, 100852ULL}) {
    TEST_ASSERT_EQUAL_INT(0, breaks(ScheduleLimits{}, seed, 1));
  }
}

TEST(a_schedule_is_the_same_every_time) {
  const ScheduleResult a = run_schedule(small(), 7);
  const ScheduleResult b = run_schedule(small(), 7);
  TEST_ASSERT_EQUAL_INT64(a.ticks, b.ticks);
  TEST_ASSERT_EQUAL_INT64(a.versions, b.versions);
  TEST_ASSERT_EQUAL_INT(a.nodes, b.nodes);
}

TEST(the_checker_notices_a_ledger_without_the_fence) {
  ScheduleLimits limits = small();
  limits.faults.no_fence = true;
  TEST_ASSERT_TRUE(breaks(limits, 1, 25) > 0);
}

TEST(the_checker_notices_closings_that_are_not_tagged_with_life_and_incarnation) {
  ScheduleLimits limits;
  limits.nodes_max = 6;
  limits.faults.untagged_closings = true;
  TEST_ASSERT_TRUE(breaks(limits, 1, 100) > 0);
}
