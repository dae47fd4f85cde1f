#include "agent/policies/uara.hpp"

#include <map>
#include <string>

#include "agent/core/step/step.hpp"
#include "base/exact_math.hpp"
#include "tests/harness/fake_board.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::policies;
using test::FakeBoard;
using test::FakeTrainer;

namespace {

core::Task ready_task(core::TaskKey key, double target = 0.001) {
  core::Task task;
  task.key = key;
  task.rate = 1000.0;
  task.spec.report_every = 100;
  task.spec.target_loss = target;
  task.deadline_at = 1000 * kSecond;
  return task;
}

void learn(core::Task& task, double exponent, int reports) {
  for (int i = 0; i < reports; ++i) {
    task.samples += 100;
    const auto s = static_cast<double>(task.samples);
    static_cast<void>(task.forecast.observe(s, exact::pow(s, -exponent)));
  }
}

std::unique_ptr<Policy> policy_of(const char* name) { return std::move(*make_policy(name)); }

Decision decide(Policy& policy, const std::vector<core::Task>& tasks, std::uint32_t not_ready,
                TimeNs now = kSecond) {
  std::vector<Candidate> candidates;
  for (const core::Task& task : tasks) candidates.push_back({&task, true});
  Decision out;
  policy.decide(LaneView{0, core::LaneKind::kCpu, now, kSecond, candidates, not_ready}, out);
  return out;
}

std::uint64_t total_share(const Decision& decision) {
  std::uint64_t sum = 0;
  for (const Choice& c : decision.choices) sum += c.share_ppm;
  return sum;
}

}  // namespace

TEST(as_printed_tasks_that_only_wait_take_the_lane_from_those_that_compute) {
  const std::vector<core::Task> tasks = {ready_task(1), ready_task(2)};
  const auto printed = policy_of("uara-uniform-printed");
  const auto corrected = policy_of("uara-uniform");
  TEST_ASSERT_EQUAL_UINT64(core::kShareWholePpm, total_share(decide(*printed, tasks, 0)));
  // Eighteen wait for their data: two tenths of the lane are used, the rest idles.
  TEST_ASSERT_EQUAL_UINT64(core::kShareWholePpm / 10, total_share(decide(*printed, tasks, 18)));
  TEST_ASSERT_EQUAL_UINT64(core::kShareWholePpm, total_share(decide(*corrected, tasks, 18)));
}

TEST(corrected_a_task_that_cannot_make_it_gets_nothing_until_it_is_tried_again) {
  std::vector<core::Task> tasks = {ready_task(1, 1e-12), ready_task(2, 0.01)};
  learn(tasks[0], 0.3, 30);
  learn(tasks[1], 0.5, 30);
  const auto policy = policy_of("uara-uniform");
  int tried = 0;
  for (int i = 0; i < 100; ++i) {
    const Decision decision = decide(*policy, tasks, 0);
    TEST_ASSERT_EQUAL_UINT64(core::kShareWholePpm, total_share(decision));
    if (decision.choices.size() == 2)
      ++tried;
    else
      TEST_ASSERT_EQUAL_UINT32(2, decision.choices[0].key);
  }
  TEST_ASSERT_EQUAL_INT(5, tried);
  decide(*policy, tasks, 0);
  TEST_ASSERT_TRUE(policy->explain(tasks[0]).find("misses its target") != std::string::npos);
}

TEST(corrected_a_lane_of_hopeless_tasks_idles) {
  std::vector<core::Task> tasks = {ready_task(1, 1e-12)};
  learn(tasks[0], 0.3, 30);
  const auto policy = policy_of("uara-uniform");
  TEST_ASSERT_TRUE(decide(*policy, tasks, 0).choices.empty());
}

TEST(the_minimum_share_is_honoured_for_every_feasible_task) {
  // The wrapped policy would run the first task alone; each other is feasible and is due a tenth of
  // an equal share.
  std::vector<core::Task> tasks;
  for (core::TaskKey key = 1; key <= 5; ++key) tasks.push_back(ready_task(key));
  tasks[0].deadline_at = 900 * kSecond;
  static constexpr UaraForm kForm{"around-deadlines", "shortest-task-first", false};
  Uara policy(kForm, policy_of("shortest-task-first"));
  std::map<core::TaskKey, DurationNs> had;
  TimeNs now = 0;
  while (now < 800 * kSecond) {
    const Decision decision = decide(policy, tasks, 0, now);
    TEST_ASSERT_EQUAL_UINT64(1, decision.choices.size());
    for (core::Task& task : tasks) {
      if (task.key != decision.choices[0].key) continue;
      task.grant_at = now + decision.slice;  // as if served to the end of its turn
      had[task.key] += decision.slice;
    }
    now += decision.slice;
  }
  const DurationNs least = 800 * kSecond / (5 * kUaraMinimumPart);
  for (core::TaskKey key = 2; key <= 5; ++key) {
    TEST_ASSERT_TRUE(had[key] >= least - 2 * kSecond);
  }
  TEST_ASSERT_TRUE(had[1] > 700 * kSecond);
}

TEST(every_wrapper_goes_on_after_a_restart_as_if_there_was_none) {
  for (const char* name : {"lara", "uara-foresight", "uara-laira", "uara-laira-printed",
                           "uara-lara", "uara-lara-printed", "uara-uniform"}) {
    TEST_ASSERT_EQUAL_HEX64_MESSAGE(test::digest_after_a_minute(name, 4, false),
                                    test::digest_after_a_minute(name, 4, true), name);
    FakeBoard board(test::small_board(name));
    test::submit_several(board, 4);
    board.run_for(20 * kSecond);
    TEST_ASSERT_FALSE_MESSAGE(core::explain(board.state, "t3")->empty(), name);
  }
}
