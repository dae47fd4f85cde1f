#include "agent/placement/search/bound.hpp"

#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

Seconds bound_of(const Instance& instance) {
  const Rows rows = rows_of(instance);
  return lower_bound(instance, rows, 3000).bound_s;
}

}  // namespace

TEST(no_plan_of_a_small_instance_beats_the_bound) {
  int close = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Instance instance = test::random_instance(seed, 5, 2);
    Objective best = test::best_by_trying(instance);
    if (best.makespan_s >= kForever) continue;
    // Without deadlines, so that the makespan is what is tried for.
    Instance plain = instance;
    for (PlannedTask& t : plain.tasks) t.deadline_s = kForever;
    best = test::best_by_trying(plain);
    const Seconds bound = bound_of(plain);
    TEST_ASSERT_TRUE_MESSAGE(bound <= best.makespan_s, ("seed " + std::to_string(seed)).c_str());
    close += bound * 10 >= best.makespan_s * 8 ? 1 : 0;
  }
  TEST_ASSERT_GREATER_THAN(80, close);
}

// Two boards, one twice as fast: 3 C / 2 = the work on the fast one. 8 + 4 + ... as fractions.
TEST(the_bound_is_that_of_the_linear_relaxation) {
  Instance i = test::empty_instance(2, Mode::kSerial);
  for (int t = 0; t < 40; ++t) {
    test::add_task(i, "t" + std::to_string(t), 300);
    i.choice(static_cast<std::size_t>(t), 1).time_s = 600;
  }
  // 40 tasks of 300 s: x on the fast board, 40 - x on the other; 300 x = 600 (40 - x).
  TEST_ASSERT_INT64_WITHIN(2, 8000, bound_of(i));
}

TEST(tasks_that_cannot_run_side_by_side_count_in_full) {
  Instance i = test::empty_instance(2, Mode::kConcurrent);
  for (int t = 0; t < 10; ++t) test::add_task(i, "t" + std::to_string(t), 100, 500, 510);
  // By GPU x time alone the bound would be 255.
  TEST_ASSERT_EQUAL_INT64(500, bound_of(i));
}

TEST(closed_time_counts) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  for (int t = 0; t < 10; ++t) test::add_task(i, "t" + std::to_string(t), 10);
  i.boards[0].closed = {{20, 70}};
  TEST_ASSERT_EQUAL_INT64(150, bound_of(i));
}

TEST(a_pair_longer_than_the_bound_is_left_out_of_it) {
  Instance i = test::empty_instance(2, Mode::kSerial);
  test::add_task(i, "a", 100);
  test::add_task(i, "b", 100);
  // Nearly half of each could go to the slow board in fractions; whole, none can.
  i.choice(0, 1).time_s = i.choice(1, 1).time_s = 1000;
  TEST_ASSERT_EQUAL_INT64(200, bound_of(i));
}

TEST(boards_that_are_alike_share_their_rows) {
  Instance i = test::empty_instance(5, Mode::kSerial);
  for (int t = 0; t < 3; ++t) test::add_task(i, "t" + std::to_string(t), 10 + t);
  TEST_ASSERT_EQUAL(1, rows_of(i).groups);
  i.choice(1, 3).time_s = 99;
  TEST_ASSERT_EQUAL(2, rows_of(i).groups);
  i.tasks[0].running = 0;
  TEST_ASSERT_EQUAL(3, rows_of(i).groups);
  i.boards[4].closed = {{5, 6}};
  TEST_ASSERT_EQUAL(4, rows_of(i).groups);
}

// sum x <= 1 must imply sum f(x) <= 1: tried with random sets of parts that fill a whole.
TEST(the_rounding_functions_never_make_more_than_a_whole_of_what_fits_in_one) {
  RandomOf<Range::kScaled> chance(11);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t whole = chance.between(7, 1000);
    double by_steps[3] = {0, 0, 0};
    double by_ends = 0.0;
    const std::int64_t e = chance.between(1, whole / 2);
    for (std::int64_t left = whole; left > 0;) {
      const std::int64_t part = std::min(left, chance.between(1, whole));
      left -= part;
      for (int k = 1; k <= 3; ++k) by_steps[k - 1] += rounded_by_steps(part, whole, k);
      by_ends += rounded_at_ends(part, whole, e);
    }
    for (const double sum : by_steps) TEST_ASSERT_TRUE(sum <= 1.0 + 1e-12);
    TEST_ASSERT_TRUE(by_ends <= 1.0 + 1e-12);
  }
}
