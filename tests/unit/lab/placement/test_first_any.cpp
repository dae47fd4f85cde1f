#include "lab/placement/first_any.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

TEST(the_first_task_of_an_idle_mixed_fleet_goes_to_the_best_board_in_at_least_80_percent) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto rows = run_first_any({200, seed});
    TEST_ASSERT_TRUE(rows.has_value());
    for (const FirstAnyRow& row : *rows) {
      TEST_ASSERT_TRUE(row.trials >= 190);
      if (row.rule != "planner") continue;
      TEST_ASSERT_TRUE_MESSAGE(row.best * 10 >= row.trials * 8, first_any_text(*rows).c_str());
    }
  }
}

TEST(by_bids_without_history_it_does_not) {
  const auto rows = run_first_any({200, 1});
  TEST_ASSERT_TRUE(rows.has_value());
  for (const FirstAnyRow& row : *rows) {
    if (row.rule != "bids") continue;
    TEST_ASSERT_TRUE_MESSAGE(row.best * 2 < row.trials, first_any_text(*rows).c_str());
  }
}
