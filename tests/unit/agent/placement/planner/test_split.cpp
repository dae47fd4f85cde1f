#include "agent/placement/planner/split.hpp"

#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

Instance with_a_large_task(std::int64_t memory_mb, bool splittable) {
  Instance i = test::empty_instance(2, Mode::kConcurrent);
  i.boards[1].memory_mb = 6000;
  test::add_task(i, "small", 10);
  PlannedTask& t = test::add_task(i, "large", 700, memory_mb);
  t.splittable = splittable;
  t.weight = 5;
  t.deadline_s = 900;
  return i;
}

}  // namespace

TEST(what_fits_a_board_stays_whole) {
  const Result<Split> s = split_oversized(with_a_large_task(5500, true), SplitRule::kFitsNone);
  TEST_ASSERT_TRUE(s.has_value());
  TEST_ASSERT_EQUAL(2, s->instance.tasks.size());
}

TEST(what_fits_no_board_becomes_the_fewest_equal_parts) {
  const Result<Split> s = split_oversized(with_a_large_task(13'000, true), SplitRule::kFitsNone);
  TEST_ASSERT_TRUE(s.has_value());
  TEST_ASSERT_EQUAL(4, s->instance.tasks.size());
  TEST_ASSERT_EQUAL_STRING("large/1", s->instance.tasks[1].name.c_str());
  std::int64_t memory = 0;
  std::int64_t weight = 0;
  Seconds time = 0;
  for (std::size_t t = 1; t < 4; ++t) {
    memory += s->instance.tasks[t].memory_mb;
    weight += s->instance.tasks[t].weight;
    time += s->instance.choice(t, 1).time_s;
    TEST_ASSERT_EQUAL(1, s->whole[t]);
    TEST_ASSERT_FALSE(s->instance.tasks[t].splittable);
    TEST_ASSERT_EQUAL_INT64(900, s->instance.tasks[t].deadline_s);
    TEST_ASSERT_INT64_WITHIN(1, 13'000 / 3, s->instance.tasks[t].memory_mb);
  }
  TEST_ASSERT_EQUAL_INT64(13'000, memory);
  TEST_ASSERT_EQUAL_INT64(5, weight);
  TEST_ASSERT_TRUE(time >= 700 && time <= 702);
}

TEST(the_papers_rule_cuts_seven_gigabytes_into_four_and_three) {
  Instance i = with_a_large_task(7000, true);
  i.boards[1].memory_mb = 16'000;
  const Result<Split> s = split_oversized(i, SplitRule::kSmallestBoard);
  TEST_ASSERT_TRUE(s.has_value());
  TEST_ASSERT_EQUAL(3, s->instance.tasks.size());
  TEST_ASSERT_EQUAL_INT64(4000, s->instance.tasks[1].memory_mb);
  TEST_ASSERT_EQUAL_INT64(3000, s->instance.tasks[2].memory_mb);
  TEST_ASSERT_EQUAL_INT64(400, s->instance.choice(1, 0).time_s);
  TEST_ASSERT_EQUAL_INT64(300, s->instance.choice(2, 0).time_s);
}

TEST(a_task_that_cannot_be_split_is_refused_with_the_reason) {
  const Result<Split> s = split_oversized(with_a_large_task(7000, false), SplitRule::kFitsNone);
  TEST_ASSERT_FALSE(s.has_value());
  TEST_ASSERT_EQUAL_STRING(
      "task 'large' needs 7000 MB, a board that it could be on has 6000 MB, and it cannot be split",
      s.error().context.c_str());
}

TEST(too_many_parts_are_refused) {
  TEST_ASSERT_FALSE(split_oversized(with_a_large_task(65 * 6000, true), SplitRule::kFitsNone));
  TEST_ASSERT_TRUE(
      split_oversized(with_a_large_task(64 * 6000, true), SplitRule::kFitsNone).has_value());
}

TEST(memory_is_not_the_reason_for_every_refusal) {
  Instance i = with_a_large_task(1000, true);
  i.choice(1, 0).time_s = i.choice(1, 1).time_s = 0;
  const Result<Split> s = split_oversized(i, SplitRule::kFitsNone);
  TEST_ASSERT_FALSE(s.has_value());
  TEST_ASSERT_TRUE(s.error().context.find("nothing is known") != std::string::npos);
}
