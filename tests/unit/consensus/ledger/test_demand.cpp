#include "consensus/ledger/demand.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::consensus;

TEST(demand_is_what_the_feasible_tasks_need_by_their_deadlines) {
  // A tenth of the fleet for 100 s of work in 200 s, and a fifth of it for 10 s in 100 s.
  const std::vector<TaskNeed> tasks = {{kWhole / 10 * 100, 200 * kSecond, 100 * kSecond},
                                       {kWhole / 5 * 10, 100 * kSecond, 10 * kSecond}};
  const Demand d = demand_from(tasks, {});
  TEST_ASSERT_EQUAL_INT64(kWhole / 20 + kWhole / 50, d.demand);
}

TEST(urgency_rises_as_slack_shrinks) {
  const auto urgency = [](DurationNs left) {
    return demand_from({{kWhole, left, 100 * kSecond}}, {}).urgency;
  };
  TEST_ASSERT_EQUAL_UINT32(kUrgencyOne * 10, urgency(100 * kSecond));
  TEST_ASSERT_EQUAL_UINT32(kUrgencyOne * 5, urgency(200 * kSecond));
  TEST_ASSERT_EQUAL_UINT32(kUrgencyOne, urgency(1000 * kSecond));
  TEST_ASSERT_EQUAL_UINT32(kUrgencyOne, urgency(100'000 * kSecond));
}

TEST(a_board_without_tasks_wants_its_floor_only) {
  const Demand d = demand_from({}, {1000, kWhole / 2});
  TEST_ASSERT_EQUAL_INT64(1000, d.demand);
  TEST_ASSERT_EQUAL_INT64(1000, d.floor);
  TEST_ASSERT_EQUAL_INT64(kWhole / 2, d.cap);
  TEST_ASSERT_EQUAL_UINT32(kUrgencyOne, d.urgency);
}

TEST(needs_beyond_every_bound_stay_within_the_whole) {
  const Demand d = demand_from({{INT64_MAX, 1, 1}, {INT64_MAX, -5, kDay}, {-4, 0, 0}}, {});
  TEST_ASSERT_EQUAL_INT64(kWhole, d.demand);
  TEST_ASSERT_TRUE(d.urgency >= kUrgencyOne);
}
