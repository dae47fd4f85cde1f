#include "lab/ledger/explore.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

TEST(keepers_never_decide_two_registers_of_one_version) {
  AgreementBounds bounds;
  bounds.messages_max = 10;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.complete);
  TEST_ASSERT_TRUE(r.versions >= 2);
  TEST_ASSERT_TRUE(r.states > 10'000);
}

TEST(the_search_finds_voters_that_forget) {
  AgreementBounds bounds;
  bounds.messages_max = 11;
  bounds.forgetful_voters = true;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_FALSE(r.violation.empty());
}

TEST(two_crashes_at_any_time_lose_and_double_nothing) {
  LifeBounds bounds;
  bounds.grid_ticks = 25;
  const ExploreResult r = explore_lives(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.states > 800);
}
