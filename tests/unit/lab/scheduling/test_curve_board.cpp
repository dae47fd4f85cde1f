#include "lab/simulator/curve_board.hpp"

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

std::vector<double> falling(int points) {
  std::vector<double> losses;
  for (int i = 1; i <= points; ++i) losses.push_back(1.0 / static_cast<double>(i));
  return losses;
}

SimulatedTask task_of(const std::vector<double>& losses, double duration, double deadline,
                      double target) {
  SimulatedTask task;
  task.losses = &losses;
  task.duration_units = duration;
  task.deadline_units = deadline;
  task.target_loss = target;
  return task;
}

}  // namespace

TEST(the_need_is_where_the_curve_crosses_the_target) {
  const std::vector<double> losses = {1.0, 0.5, 0.7, 0.3};
  // One point per 10 units; 0.5 is met at the second point, 0.4 three quarters of the way from the
  // third to the fourth.
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, 37.5, need_units(task_of(losses, 40.0, 1.0, 0.4)));
  TEST_ASSERT_EQUAL_DOUBLE(20.0, need_units(task_of(losses, 40.0, 1.0, 0.5)));
  TEST_ASSERT_TRUE(need_units(task_of(losses, 40.0, 1.0, 0.2)) < 0.0);
}

TEST(a_lone_task_succeeds_exactly_when_its_need_fits_its_deadline) {
  const std::vector<double> losses = falling(100);
  const double need = need_units(task_of(losses, 200.0, 1.0, losses[49]));
  TEST_ASSERT_EQUAL_DOUBLE(100.0, need);
  const std::vector<SimulatedTask> in_time = {task_of(losses, 200.0, need + 0.5, losses[49])};
  const std::vector<SimulatedTask> late = {task_of(losses, 200.0, need - 0.5, losses[49])};
  for (const std::string_view policy : policies::policy_names()) {
    TEST_ASSERT_TRUE(CurveBoard(std::string(policy), 1).run(in_time).succeeded[0]);
    TEST_ASSERT_FALSE(CurveBoard(std::string(policy), 1).run(late).succeeded[0]);
  }
}

TEST(tasks_that_share_a_lane_take_as_much_longer) {
  const std::vector<double> losses = falling(100);
  // Two needs of 100 units each: in equal parts both are done at about 200, never by 190.
  const auto run = [&](double deadline) {
    return CurveBoard("uniform", 1)
        .run({task_of(losses, 200.0, deadline, losses[49]),
              task_of(losses, 200.0, deadline, losses[49])})
        .succeeded;
  };
  const auto late = run(190.0);
  TEST_ASSERT_FALSE(late[0] || late[1]);
  const auto in_time = run(215.0);
  TEST_ASSERT_TRUE(in_time[0] && in_time[1]);
}

TEST(a_curve_that_ends_above_its_target_stays_there_until_the_deadline) {
  const std::vector<double> losses = falling(20);
  const RunResult result = CurveBoard("round-robin", 1).run({task_of(losses, 20.0, 100.0, 0.001)});
  TEST_ASSERT_FALSE(result.succeeded[0]);
  TEST_ASSERT_TRUE(result.grants > 50);
}

TEST(a_task_is_not_known_before_it_arrives) {
  const std::vector<double> losses = falling(100);
  std::vector<SimulatedTask> tasks = {task_of(losses, 200.0, 110.0, losses[49]),
                                      task_of(losses, 200.0, 110.0, losses[49])};
  TEST_ASSERT_EQUAL_UINT64(1, [&] {
    const auto r = CurveBoard("shortest-task-first", 1).run(tasks).succeeded;
    return static_cast<std::uint64_t>(r[0]) + static_cast<std::uint64_t>(r[1]);
  }());
  tasks[1].arrival_units = 101.0;
  const auto both = CurveBoard("shortest-task-first", 1).run(tasks).succeeded;
  TEST_ASSERT_TRUE(both[0] && both[1]);
}
