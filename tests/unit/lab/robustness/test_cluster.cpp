#include "lab/simulator/cluster.hpp"

#include "lab/robustness/workload.hpp"
#include "lab/simulator/link.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

TEST(transfers_share_the_link_in_equal_parts) {
  Link link(2.0);  // per ns
  link.start(1, 100.0, 0);
  TEST_ASSERT_EQUAL_INT64(50, link.next_at());
  link.start(2, 100.0, 25);  // 50 left of the first; from now on one per ns each
  TEST_ASSERT_EQUAL_INT64(75, link.next_at());
  TEST_ASSERT_EQUAL_UINT32(1, link.finish_next());
  TEST_ASSERT_EQUAL_INT64(100, link.next_at());
  TEST_ASSERT_EQUAL_UINT32(2, link.finish_next());
  TEST_ASSERT_EQUAL_INT64(kNever, link.next_at());
  TEST_ASSERT_EQUAL_INT64(100, link.busy_ns());
}

TEST(a_task_computes_only_once_its_data_has_come) {
  const std::vector<double> losses = {1.0, 0.5, 0.25, 0.1};
  ClusterTask t;
  t.task.losses = &losses;
  t.task.duration_units = 4.0;
  t.task.deadline_units = 100.0;
  t.task.target_loss = 0.25;  // after 3 units of work
  t.transfer = 50.0;
  t.delay_units = 2.0;
  const ClusterResult run = run_cluster({2, 10.0, "uniform", 1}, {t});
  // 5 units of transfer, 2 of delay, 3 of work.
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 10.0, static_cast<double>(run.succeeded_at[0]) / 1e9);
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 3.0, run.work_units);
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 5.0, run.link_busy_units);
}

TEST(tasks_spread_over_the_boards) {
  const Workload load = draw_workload(20, 3);
  std::vector<int> grants(kStudyNodes, 0);
  static_cast<void>(run_cluster({kStudyNodes, kLinkSamplesPerStep, "round-robin", 3}, load.tasks,
                                [&](const ClusterGrant& g) { ++grants[g.board]; }));
  for (const int count : grants) TEST_ASSERT_TRUE(count > 0);
}

TEST(the_same_seed_gives_the_same_schedule) {
  const auto trace = [](const char* policy, std::uint64_t seed) {
    const Workload load = draw_workload(30, seed);
    std::vector<double> out;
    static_cast<void>(run_cluster({kStudyNodes, kLinkSamplesPerStep, policy, seed}, load.tasks,
                                  [&](const ClusterGrant& g) {
                                    out.push_back(static_cast<double>(g.task));
                                    out.push_back(g.from_units);
                                    out.push_back(g.to_units);
                                  }));
    return out;
  };
  for (const char* policy : {"foresight", "laira", "lara", "uara-laira", "uara-lara-printed"}) {
    TEST_ASSERT_TRUE(trace(policy, 5) == trace(policy, 5));
    TEST_ASSERT_FALSE(trace(policy, 5) == trace(policy, 6));
  }
}
