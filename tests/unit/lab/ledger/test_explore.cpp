#include "lab/ledger/explore.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

TEST(keepers_never_decide_two_registers_of_one_version) {
  AgreementBounds bounds;
  bounds.messages_max = 11;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.complete);
  TEST_ASSERT_TRUE(r.versions >= 3);
  TEST_ASSERT_TRUE(r.states > 10'000);
}

// With a keeper that forgets its promise when the version it was given for is decided, this search
// finds a violation after 6,156 states, with 16 messages and no fewer.
TEST(a_promise_holds_for_the_version_after_the_one_it_was_given_for) {
  AgreementBounds bounds;
  bounds.taken_over = true;
  bounds.messages_max = 16;
  bounds.states_max = 30'000;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.versions >= 3);
}

TEST(the_search_finds_a_violation_when_a_keeper_forgets_its_votes) {
  AgreementBounds bounds;
  bounds.messages_max = 11;
  bounds.forgetful_voters = true;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_FALSE(r.violation.empty());
}

TEST(two_crashes_at_any_time_neither_lose_a_share_nor_use_one_twice) {
  LifeBounds bounds;
  bounds.grid_ticks = 25;
  const ExploreResult r = explore_lives(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.states > 800);
}
