#include "agent/placement/search/explain.hpp"

#include "agent/placement/search/solve.hpp"
#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

// A fast board, a slow one and one that is too small.
Instance three_boards() {
  Instance i = test::empty_instance(3, Mode::kSerial);
  i.boards[2].memory_mb = 500;
  test::add_task(i, "a", 600);
  i.choice(0, 1).time_s = 1500;
  i.choice(0, 0).energy_j = 40;
  i.choice(0, 1).energy_j = 100;
  return i;
}

std::string text_of(const Instance& i, std::size_t task) {
  const Result<Plan> plan = solve(i, {1, 50'000, nullptr});
  TEST_ASSERT_TRUE(plan.has_value());
  return explanation_text(i, *plan, explain(i, *plan, task));
}

}  // namespace

TEST(the_second_best_is_named_with_what_it_would_cost_and_the_rest_with_why_not) {
  TEST_ASSERT_EQUAL_STRING(
      "a is on n-1, from 0 s to 10 min from now.\n"
      "Second best is n-2: the task would end 15 min later, everything 15 min later, for 60 J "
      "more.\n"
      "Not on n-3: it needs 1000 MB, the board has 500 MB.\n",
      text_of(three_boards(), 0).c_str());
}

TEST(a_deadline_that_only_one_board_meets_is_told) {
  Instance i = three_boards();
  i.tasks[0].deadline_s = 900;
  i.tasks[0].weight = 4;
  const std::string text = text_of(i, 0);
  TEST_ASSERT_TRUE(text.find("Its deadline, in 15 min, is met.") != std::string::npos);
  TEST_ASSERT_TRUE(text.find("deadlines of weight 4 more would be missed") != std::string::npos);
}

TEST(running_work_is_where_it_is) {
  Instance i = three_boards();
  i.tasks[0].running = 1;
  TEST_ASSERT_EQUAL_STRING(
      "a is on n-2, from 0 s to 25 min from now. It runs there already and stays.\n",
      text_of(i, 0).c_str());
}

TEST(the_only_board_is_called_that) {
  Instance i = three_boards();
  i.choice(0, 1).allowed = false;
  const std::string text = text_of(i, 0);
  TEST_ASSERT_TRUE(text.find("Not on n-2: the task does not allow this board.") !=
                   std::string::npos);
  TEST_ASSERT_TRUE(text.find("It can be on no other board.") != std::string::npos);
}

// What the explanation says of another board is what the plan would really be with the task there.
TEST(no_alternative_is_better_than_the_best_plan) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Instance i = test::random_instance(seed, 5, 3);
    const Result<Plan> plan = solve(i, {1, 300'000, nullptr});
    if (!plan) continue;
    for (std::size_t t = 0; t < 5; ++t) {
      const Explanation e = explain(i, *plan, t);
      TEST_ASSERT_EQUAL(2, e.others.size());
      for (const Alternative& a : e.others) {
        if (!a.why_not.empty()) continue;
        TEST_ASSERT_TRUE_MESSAGE(a.objective.missed_weight > plan->objective.missed_weight ||
                                     (a.objective.missed_weight == plan->objective.missed_weight &&
                                      a.objective.makespan_s >= plan->objective.makespan_s),
                                 ("seed " + std::to_string(seed)).c_str());
      }
    }
  }
}
