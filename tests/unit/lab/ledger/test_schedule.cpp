#include "lab/ledger/schedule.hpp"

#include <string>

#include "lab/ledger/reclaim.hpp"
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

// No share is in use twice, and none is lost that could be recovered.
void expect_safe_and_recovered(const ScheduleLimits& limits, std::uint64_t seed) {
  const ScheduleResult r = run_schedule(limits, seed);
  TEST_ASSERT_EQUAL_STRING_MESSAGE("", r.first_break.c_str(), std::to_string(seed).c_str());
  if (!r.needs_operator.empty()) return;
  TEST_ASSERT_TRUE_MESSAGE(r.stranded <= 1e-6, std::to_string(seed).c_str());
}

ScheduleLimits small() {
  ScheduleLimits limits;
  limits.nodes_max = 12;
  return limits;
}

ScheduleLimits boards(int count) {
  ScheduleLimits limits;
  limits.nodes_min = limits.nodes_max = count;
  return limits;
}

}  // namespace

TEST(no_schedule_exceeds_the_budget_or_strands_a_share) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) expect_safe_and_recovered(small(), seed);
  for (std::uint64_t seed = 61; seed <= 70; ++seed)
    expect_safe_and_recovered(ScheduleLimits{}, seed);
}

// With these seeds earlier versions of the rules exceeded the budget or stranded a share.
TEST(schedules_that_failed_earlier_rules_pass) {
  for (const std::uint64_t seed : {2002571ULL, 2002594ULL, 2005075ULL, 6003653ULL, 10200299ULL}) {
    expect_safe_and_recovered(ScheduleLimits{}, seed);
  }
}

// With these seeds earlier versions of the rules settled a dead board too late, most of them at
// losses of 30 to 40% with two or three faults at once.
TEST(schedules_that_were_late_under_earlier_rules_settle_within_the_lease_and_ten_ticks) {
  const ScheduleLimits limits;
  for (const std::uint64_t seed :
       {9700569ULL, 9703063ULL, 9705181ULL, 9708110ULL, 1200312ULL, 2201699ULL, 2204703ULL,
        2211681ULL, 2216161ULL, 2200383ULL, 9993806ULL, 10102337ULL, 2202359ULL, 2203114ULL,
        2205505ULL, 10106548ULL}) {
    const ScheduleResult r = run_schedule(limits, seed);
    TEST_ASSERT_EQUAL_STRING("", r.first_break.c_str());
    TEST_ASSERT_TRUE_MESSAGE(r.reclaim_ticks <= limits.lease_ticks + 10,
                             std::to_string(seed).c_str());
  }
}

// Six boards, and a link between two keepers is cut just before another keeper crashes. It takes 42
// ticks, where earlier rules took less.
TEST(a_schedule_that_is_late_settles_within_two_leases) {
  const ScheduleLimits limits;
  const ScheduleResult r = run_schedule(limits, 2205129);
  TEST_ASSERT_EQUAL_STRING("", r.first_break.c_str());
  TEST_ASSERT_TRUE(r.reclaim_ticks <= 2 * limits.lease_ticks);
}

// A keeper that supports what it knows as decided has promised nothing: with the first seed two
// registers of one version were decided, with the second a fleet was founded anew without need.
TEST(who_knows_a_version_votes_for_it_and_is_bound_by_nothing_else) {
  expect_safe_and_recovered(boards(4), 60000070);
  expect_safe_and_recovered(boards(5), 60002695);
}

// In these fleets the keepers never agreed again: one of them was locked on a version that nobody
// could justify any more. The last seed had two such locks.
TEST(a_version_that_one_keeper_is_locked_on_is_finished_or_given_up) {
  expect_safe_and_recovered(boards(4), 61009201);
  for (const std::uint64_t seed : {60000944ULL, 60012057ULL}) {
    expect_safe_and_recovered(boards(5), seed);
  }
  expect_safe_and_recovered(boards(7), 60011418);
  expect_safe_and_recovered(boards(8), 60001130);
  expect_safe_and_recovered(boards(8), 60001556);
}

// An only keeper went on, and the other board, which had voted for the version that made it the
// only keeper, never heard of it.
TEST(whoever_missed_the_version_that_left_one_keeper_learns_of_it) {
  for (const std::uint64_t seed : {60005789ULL, 60007001ULL, 60010343ULL, 60018046ULL}) {
    expect_safe_and_recovered(boards(3), seed);
  }
  for (const std::uint64_t seed : {60006574ULL, 60006686ULL, 60012091ULL}) {
    expect_safe_and_recovered(boards(4), seed);
  }
}

TEST(a_board_that_left_before_it_was_entered_strands_nothing) {
  expect_safe_and_recovered(boards(5), 60002809);
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

TEST(the_checker_notices_closings_that_count_whichever_edge_and_incarnation_they_name) {
  ScheduleLimits limits;
  limits.nodes_max = 6;
  limits.faults.untagged_closings = true;
  TEST_ASSERT_TRUE(breaks(limits, 1, 100) > 0);
}

namespace {

void expect_bounded(const ScheduleLimits& limits, std::uint64_t seed) {
  const std::string name = std::to_string(seed);
  const ScheduleResult r = run_schedule(limits, seed);
  TEST_ASSERT_EQUAL_STRING_MESSAGE("", r.first_break.c_str(), name.c_str());
  if (!r.guarded) return;
  TEST_ASSERT_TRUE_MESSAGE(r.overstated_max <= r.bound + r.owed_max, name.c_str());
  TEST_ASSERT_FALSE_MESSAGE(r.stuck(), (name + ": " + r.business).c_str());
}

}  // namespace

// One member lies, as keeper, owner, neighbour or lowest member, beside all other faults.
TEST(a_liar_adds_at_most_its_allowance_and_what_others_owe_and_leaves_nothing_stuck) {
  ScheduleLimits limits = small();
  limits.liars = 1;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) expect_bounded(limits, seed);
}

// With these seeds earlier rules let a liar break the register or hold more than the whole.
TEST(liars_that_broke_earlier_rules_break_nothing) {
  ScheduleLimits limits;
  limits.liars = 1;
  for (const std::uint64_t seed :
       {30000093ULL, 30000094ULL, 30000253ULL, 30000256ULL, 31000140ULL, 31000153ULL}) {
    expect_bounded(limits, seed);
  }
}

// With these seeds the keepers of earlier rules never agreed again: one of them knew the newest
// version and convinced nobody.
TEST(schedules_that_were_stuck_under_earlier_rules_recover) {
  expect_safe_and_recovered(ScheduleLimits{}, 10300169);
  ScheduleLimits counters;
  counters.near_limits = true;
  counters.nodes_max = 200;
  expect_safe_and_recovered(counters, 50000014);
  for (const std::uint64_t seed : {60000063ULL, 60000292ULL, 60000318ULL, 60000420ULL}) {
    expect_safe_and_recovered(boards(3), seed);
  }
  for (const std::uint64_t seed : {60000042ULL, 60000335ULL, 60000359ULL, 60000369ULL}) {
    expect_safe_and_recovered(boards(4), seed);
  }
  ScheduleLimits broker;
  broker.broker_lies = true;
  expect_safe_and_recovered(broker, 40000210);
  expect_safe_and_recovered(broker, 40000205);
}

TEST(the_checker_notices_a_ledger_that_believes_every_member) {
  ScheduleLimits limits = small();
  limits.liars = 1;
  limits.faults.trusting = true;
  TEST_ASSERT_TRUE(breaks(limits, 1, 10) > 0);
}

TEST(a_broker_that_drops_keeps_back_and_repeats_what_it_likes_breaks_nothing) {
  ScheduleLimits limits = small();
  limits.broker_lies = true;
  TEST_ASSERT_EQUAL_INT(0, breaks(limits, 1, 40));
}

TEST(counters_near_their_ends_and_real_incarnations_leave_nothing_stuck) {
  ScheduleLimits limits;
  limits.nodes_max = 20;
  limits.near_limits = true;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) expect_safe_and_recovered(limits, seed);
}

TEST(the_share_of_a_dead_board_is_back_within_the_lease_and_ten_ticks) {
  ReclaimConfig config;
  config.network.loss = 0.3;
  config.network.duplicate = 0.15;
  config.network.delay_max = 3;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ReclaimResult r = run_reclaim(config, seed);
    TEST_ASSERT_EQUAL_STRING("", r.first_break.c_str());
    TEST_ASSERT_TRUE(r.ticks > 0 && r.ticks <= config.lease_ticks + 10);
    TEST_ASSERT_EQUAL_INT64(0, r.stranded);
  }
}
