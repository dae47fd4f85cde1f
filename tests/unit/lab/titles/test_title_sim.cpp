#include "lab/titles/title_sim.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

constexpr std::uint64_t kSchedules = 400;

TitleSimResult sum_of(const consensus::TitleRules& rules, std::uint64_t schedules) {
  TitleSimResult sum;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    TitleSimConfig config;
    config.seed = seed;
    config.rules = rules;
    const TitleSimResult r = run_titles(config);
    if (sum.first.empty()) sum.first = r.first;
    sum.two_runners += r.two_runners;
    sum.two_holders += r.two_holders;
    sum.lost += r.lost;
    sum.given += r.given;
    sum.reclaimed += r.reclaimed;
  }
  return sum;
}

}  // namespace

TEST(no_two_boards_run_or_hold_a_title_and_none_is_lost_under_any_schedule) {
  const TitleSimResult sum = sum_of({}, kSchedules);
  TEST_ASSERT_TRUE_MESSAGE(sum.ok(), sum.first.c_str());
  TEST_ASSERT_TRUE_MESSAGE(sum.given > 1000 && sum.reclaimed > 1000, "the schedules do something");
}

TEST(each_rule_that_is_left_out_is_caught) {
  consensus::TitleRules rules;
  rules.waits_for_register = false;
  TEST_ASSERT_TRUE(sum_of(rules, 40).two_runners > 0);
  rules = {};
  rules.journals_gift = false;
  TEST_ASSERT_TRUE(sum_of(rules, 40).two_runners > 0);
  rules = {};
  rules.asks_after_rebirth = false;
  TEST_ASSERT_TRUE(sum_of(rules, 40).two_runners > 0);
  rules = {};
  rules.tells_backup = false;
  TEST_ASSERT_TRUE(sum_of(rules, 40).two_runners > 0);
}

TEST(the_titles_of_a_board_that_dies_run_again_within_a_lease_and_twenty_ticks) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    TEST_ASSERT_TRUE(ticks_to_run_again(seed) <= kTitleLease + 20);
  }
}
