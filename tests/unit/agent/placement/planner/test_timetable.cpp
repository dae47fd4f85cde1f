#include "agent/placement/planner/timetable.hpp"

#include "tests/harness/placement_samples.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

std::vector<Seconds> starts_of(const Instance& instance, const Order& order) {
  Timetable timetable(instance);
  std::vector<Seconds> out(instance.tasks.size(), -1);
  static_cast<void>(run_order(instance, timetable, 0, order, &out));
  return out;
}

void expect(const std::vector<Seconds>& wanted, const std::vector<Seconds>& found) {
  TEST_ASSERT_EQUAL(wanted.size(), found.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) TEST_ASSERT_EQUAL_INT64(wanted[i], found[i]);
}

}  // namespace

TEST(in_mode_s_tasks_follow_one_another_in_the_order_given) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  test::add_task(i, "a", 10);
  test::add_task(i, "b", 20);
  expect({20, 0}, starts_of(i, {1, 0}));
}

TEST(in_mode_c_tasks_share_the_board_as_far_as_gpu_memory_and_lanes_go) {
  Instance i = test::empty_instance(1, Mode::kConcurrent);
  test::add_task(i, "a", 10, 1000, 600);
  test::add_task(i, "b", 10, 1000, 600);
  test::add_task(i, "c", 5, 1000, 400);
  expect({0, 10, 0}, starts_of(i, {0, 1, 2}));
  i.tasks[2].memory_mb = 3500;
  expect({0, 10, 20}, starts_of(i, {0, 1, 2}));
  i.tasks[2].memory_mb = 1000;
  i.boards[0].lanes = 1;
  expect({0, 10, 20}, starts_of(i, {0, 1, 2}));
}

TEST(a_later_task_slips_in_where_it_delays_nobody) {
  Instance i = test::empty_instance(1, Mode::kConcurrent);
  test::add_task(i, "a", 10, 1000, 900);
  test::add_task(i, "b", 10, 1000, 900);
  test::add_task(i, "c", 15, 1000, 100);
  expect({0, 10, 0}, starts_of(i, {0, 1, 2}));
}

TEST(closed_windows_are_waited_for_and_not_straddled) {
  for (const Mode mode : {Mode::kSerial, Mode::kConcurrent}) {
    Instance i = test::empty_instance(1, mode);
    i.boards[0].closed = {{5, 8}, {20, 30}};
    test::add_task(i, "a", 10, 1000, 900);
    test::add_task(i, "b", 5, 1000, 900);
    test::add_task(i, "c", 5, 1000, 900);
    expect({8, 0, 30}, starts_of(i, {0, 1, 2}));
  }
}

TEST(tasks_that_do_not_fit_before_a_board_closes_for_good_say_so) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  i.boards[0].closed = {{15, kForever}};
  test::add_task(i, "a", 10);
  test::add_task(i, "b", 10);
  Timetable timetable(i);
  TEST_ASSERT_EQUAL_INT64(10, run_order(i, timetable, 0, {0}).finish_s);
  TEST_ASSERT_EQUAL_INT64(kForever, run_order(i, timetable, 0, {0, 1}).finish_s);
}

TEST(running_work_is_first_whatever_its_place_and_data_are_waited_for) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  test::add_task(i, "a", 10);
  test::add_task(i, "b", 7).running = 0;
  i.choice(0, 0).ready_s = 9;
  expect({9, 0}, starts_of(i, {0, 1}));
}

TEST(a_deadline_is_met_when_the_need_of_nine_in_ten_fits_before_it) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  PlannedTask& a = test::add_task(i, "a", 10);
  a.deadline_s = 15;
  a.weight = 7;
  a.high_permille = 1500;
  Timetable timetable(i);
  TEST_ASSERT_EQUAL_INT64(0, run_order(i, timetable, 0, {0}).missed_weight);
  i.tasks[0].deadline_s = 14;
  TEST_ASSERT_EQUAL_INT64(7, run_order(i, timetable, 0, {0}).missed_weight);
  i.tasks[0].high_permille = 1000;
  TEST_ASSERT_EQUAL_INT64(0, run_order(i, timetable, 0, {0}).missed_weight);
}

TEST(lateness_has_an_end_however_late_everything_is) {
  Instance i = test::empty_instance(1, Mode::kSerial);
  Order order;
  for (int t = 0; t < 12; ++t) {
    PlannedTask& task = test::add_task(i, "t" + std::to_string(t), kSecondsMax);
    task.deadline_s = 0;
    task.weight = kWeightMax;
    task.high_permille = 1'000'000;
    order.push_back(t);
  }
  Timetable timetable(i);
  TEST_ASSERT_TRUE(run_order(i, timetable, 0, order).late_s > INT64_MAX / 4);
}

TEST(orders_of_a_plan_give_the_plan_again) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance i = test::random_instance(seed, 6, 2);
    std::vector<Order> orders(2);
    for (int t = 0; t < 6; ++t)
      orders[i.may_run(static_cast<std::size_t>(t), 0) ? 0 : 1].push_back(t);
    const std::vector<Placed> placed = place_orders(i, orders);
    const std::vector<Placed> again = place_orders(i, orders_of(i, placed));
    for (std::size_t t = 0; t < 6; ++t) TEST_ASSERT_TRUE(again[t].start_s <= placed[t].start_s);
  }
}
