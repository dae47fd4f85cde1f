#include "agent/policies/halving.hpp"

#include <map>
#include <string>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::policies;

namespace {

core::Task task_with(core::TaskKey key, double loss) {
  core::Task task;
  task.key = key;
  task.loss = loss;
  task.loss_known = true;
  task.spec.target_loss = 1.0;
  task.deadline_at = 1000 * kSecond;
  return task;
}

// Runs the lane from `from` to `to`; says how long each task had it.
std::map<core::TaskKey, DurationNs> run(SuccessiveHalving& policy, std::vector<core::Task>& tasks,
                                        TimeNs from, TimeNs to) {
  std::map<core::TaskKey, DurationNs> had;
  for (TimeNs now = from; now < to;) {
    std::vector<Candidate> candidates;
    for (const core::Task& task : tasks) candidates.push_back({&task, true});
    Decision out;
    policy.decide(LaneView{0, core::LaneKind::kCpu, now, kSecond, candidates}, out);
    for (core::Task& task : tasks) {
      if (task.key != out.choices.at(0).key) continue;
      task.busy_ns += out.slice;
      had[task.key] += out.slice;
    }
    now += out.slice;
  }
  return had;
}

}  // namespace

TEST(each_round_is_shared_equally_and_then_drops_the_worse_half) {
  SuccessiveHalving policy;
  std::vector<core::Task> tasks = {task_with(1, 4.0), task_with(2, 3.0), task_with(3, 2.0),
                                   task_with(4, 9.0)};
  // Four tasks over 1000 s: two rounds of 500 s.
  auto first = run(policy, tasks, 0, 500 * kSecond);
  for (core::TaskKey key = 1; key <= 4; ++key) TEST_ASSERT_EQUAL_INT64(125 * kSecond, first[key]);
  auto second = run(policy, tasks, 500 * kSecond, 1000 * kSecond);
  TEST_ASSERT_EQUAL_INT64(0, second[1]);
  TEST_ASSERT_EQUAL_INT64(250 * kSecond, second[2]);
  TEST_ASSERT_EQUAL_INT64(250 * kSecond, second[3]);
  TEST_ASSERT_EQUAL_INT64(0, second[4]);
  TEST_ASSERT_TRUE(policy.explain(tasks[3]).find("dropped") != std::string::npos);
}

TEST(dropped_tasks_come_back_when_no_survivor_is_left) {
  SuccessiveHalving policy;
  std::vector<core::Task> tasks = {task_with(1, 4.0), task_with(2, 3.0)};
  run(policy, tasks, 0, 1005 * kSecond);
  tasks.pop_back();  // the survivor has ended
  policy.forget(2);
  tasks[0].deadline_at = 2000 * kSecond;
  auto had = run(policy, tasks, 1005 * kSecond, 1100 * kSecond);
  TEST_ASSERT_EQUAL_INT64(95 * kSecond, had[1]);
}
