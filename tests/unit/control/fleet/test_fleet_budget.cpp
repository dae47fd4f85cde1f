#include "control/fleet/fleet_budget.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/control/budget_of_two.hpp"

using namespace laird;
using namespace laird::control;
using test::budget_of_two;

namespace {

constexpr std::int64_t kNow = 1'800'000'000'000;

}  // namespace

TEST(each_change_raises_the_revision_and_stays_a_valid_plan) {
  for (const auto& changed :
       {with_power(budget_of_two(), 50'000), with_power_until(budget_of_two(), 50'000, kNow),
        without_power_cap(budget_of_two(), true)}) {
    TEST_ASSERT_EQUAL_UINT64(5, changed.rev);
    TEST_ASSERT_TRUE(core::check_fleet_budget(changed).has_value());
  }
}

TEST(a_cap_for_a_time_leaves_the_lasting_budget) {
  const auto changed = with_power_until(budget_of_two(), 20'000, kNow + 1'000);
  const auto at = [&](std::int64_t ms) {
    return changed.budget_at(core::Resource::kPower, ms * kMillisecond);
  };
  TEST_ASSERT_TRUE(at(kNow) == 20'000);
  TEST_ASSERT_TRUE(at(kNow + 1'001) == 60'000);
  TEST_ASSERT_EQUAL_STRING("power 20.0 W until 2027-01-15T08:00:01.000Z, then 60.0 W",
                           power_text(changed, kNow).c_str());
  TEST_ASSERT_EQUAL_STRING("power 60.0 W", power_text(changed, kNow + 2'000).c_str());
}

TEST(a_lasting_budget_ends_a_cap_for_a_time) {
  const auto changed = with_power(with_power_until(budget_of_two(), 20'000, kNow + 1'000), 55'000);
  TEST_ASSERT_TRUE(changed.budget_at(core::Resource::kPower, kNow * kMillisecond) == 55'000);
}

TEST(clearing_keeps_the_budget_unless_told) {
  const auto timed = with_power_until(budget_of_two(), 20'000, kNow + 1'000);
  TEST_ASSERT_EQUAL_STRING("power 60.0 W",
                           power_text(without_power_cap(timed, false), kNow).c_str());
  TEST_ASSERT_EQUAL_STRING("power not limited",
                           power_text(without_power_cap(timed, true), kNow).c_str());
}
