#include "lab/ledger/explore.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::lab;

TEST(keepers_never_decide_two_registers_of_one_version) {
  AgreementBounds bounds;
  bounds.messages_max = 12;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.complete);
  TEST_ASSERT_TRUE(r.versions >= 2);
  TEST_ASSERT_TRUE(r.states > 10'000);
}

TEST(a_keeper_finishes_what_another_began_and_no_version_is_decided_twice) {
  AgreementBounds bounds;
  bounds.taken_over = true;
  bounds.messages_max = 16;
  bounds.states_max = 10'000;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.versions >= 2);
}

// Keeper 1 may propose version 3 by the promises for version 2, and keeper 0 asks for the floor.
TEST(a_promise_holds_for_the_version_after_the_one_it_was_given_for) {
  AgreementBounds bounds;
  bounds.established = true;
  bounds.amnesia = false;
  bounds.messages_max = 13;
  const ExploreResult r = explore_agreement(bounds);
  TEST_ASSERT_EQUAL_STRING("", r.violation.c_str());
  TEST_ASSERT_TRUE(r.complete);
  TEST_ASSERT_TRUE(r.versions >= 3);
  bounds.forgetful_promises = true;
  TEST_ASSERT_FALSE(explore_agreement(bounds).violation.empty());
}

TEST(the_search_finds_a_violation_when_a_keeper_forgets_its_votes) {
  AgreementBounds bounds;
  bounds.taken_over = bounds.decided = true;
  bounds.messages_max = 12;
  bounds.states_max = 30'000;
  TEST_ASSERT_EQUAL_STRING("", explore_agreement(bounds).violation.c_str());
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
