#include "agent/trainer_host/trainer_life.hpp"

#include "tests/harness/unit.hpp"

using namespace laird::agent;
using S = LifeStage;
using E = LifeEvent;

TEST(a_trainer_lives_from_its_start_through_grants_to_its_death) {
  S stage = S::kStarting;
  const auto go = [&](E event) {
    const auto next = next_stage(stage, event);
    TEST_ASSERT_TRUE_MESSAGE(next.has_value(), name(event).data());
    stage = *next;
  };
  for (const E event : {E::kReady, E::kGranted, E::kReported, E::kGrantSpent, E::kGranted,
                        E::kSpokeToPeers, E::kYielded, E::kYielded, E::kCheckpointed, E::kDone}) {
    go(event);
  }
  TEST_ASSERT_TRUE(stage == S::kIdle);
  go(E::kKilled);
  TEST_ASSERT_TRUE(stage == S::kDying);
}

TEST(nothing_but_ready_comes_first_and_only_once) {
  for (const E event : {E::kReported, E::kGrantSpent, E::kYielded, E::kCheckpointed, E::kDone,
                        E::kSpokeToPeers, E::kGranted}) {
    TEST_ASSERT_FALSE_MESSAGE(next_stage(S::kStarting, event).has_value(), name(event).data());
  }
  TEST_ASSERT_FALSE(next_stage(S::kIdle, E::kReady).has_value());
  TEST_ASSERT_FALSE(next_stage(S::kWorking, E::kReady).has_value());
}

TEST(a_grant_ends_once) {
  TEST_ASSERT_FALSE(next_stage(S::kIdle, E::kGrantSpent).has_value());
  TEST_ASSERT_TRUE(next_stage(S::kWorking, E::kGrantSpent) == S::kIdle);
  TEST_ASSERT_TRUE(next_stage(S::kWorking, E::kYielded) == S::kIdle);
}

TEST(nothing_brings_the_dying_back) {
  for (const E event : {E::kReady, E::kReported, E::kGrantSpent, E::kYielded, E::kCheckpointed,
                        E::kDone, E::kSpokeToPeers, E::kGranted, E::kKilled}) {
    TEST_ASSERT_TRUE(next_stage(S::kDying, event) == S::kDying);
  }
}
