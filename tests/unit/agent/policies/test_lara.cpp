#include "agent/policies/lara.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/exact_math.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::policies;

namespace {

core::Task task_of(core::TaskKey key, double target, TimeNs deadline) {
  core::Task task;
  task.key = key;
  task.rate = 1000.0;
  task.spec.report_every = 100;
  task.spec.target_loss = target;
  task.deadline_at = deadline;
  return task;
}

void learn(Lara& policy, core::Task& task, double exponent, int reports) {
  for (int i = 0; i < reports; ++i) {
    task.samples += 100;
    task.loss = exact::pow(static_cast<double>(task.samples), -exponent);
    policy.observe(task);
  }
}

// A task is explored for the first fifth of its time: of 125 s, at 25 s there are 100 left.
constexpr TimeNs kExplored = 25 * kSecond;
constexpr TimeNs kDeadline = 125 * kSecond;

std::map<core::TaskKey, std::uint32_t> shares(Lara& policy, const std::vector<core::Task>& tasks,
                                              TimeNs now = kExplored) {
  std::vector<Candidate> candidates;
  for (const core::Task& task : tasks) candidates.push_back({&task, true});
  Decision out;
  policy.decide(LaneView{0, core::LaneKind::kCpu, now, kSecond, candidates, 0}, out);
  std::map<core::TaskKey, std::uint32_t> given;
  std::uint64_t sum = 0;
  for (const Choice& c : out.choices) sum += (given[c.key] = c.share_ppm);
  TEST_ASSERT_TRUE(sum <= core::kShareWholePpm);
  return given;
}

// The loss s^-0.5 reaches at `samples`.
double loss_at(double samples) { return exact::pow(samples, -0.5); }

}  // namespace

TEST(lara_explores_every_task_equally_before_it_compares_them) {
  Lara policy;
  std::vector<core::Task> tasks;
  for (core::TaskKey key = 1; key <= 4; ++key) tasks.push_back(task_of(key, 0.01, kHour));
  for (core::Task& task : tasks) learn(policy, task, 0.5, 9 + 10 * static_cast<int>(task.key));
  for (const auto& [key, share] : shares(policy, tasks)) {
    TEST_ASSERT_EQUAL_UINT32(core::kShareWholePpm / 4, share);
  }
}

TEST(lara_divides_the_lane_by_what_each_must_have_to_finish_in_time) {
  Lara policy;
  // After 2000 samples each: 10 s and 30 s of work to go, 100 s of time.
  std::vector<core::Task> tasks = {task_of(1, loss_at(12'000), kDeadline),
                                   task_of(2, loss_at(32'000), kDeadline)};
  for (core::Task& task : tasks) learn(policy, task, 0.5, 20);
  auto given = shares(policy, tasks);
  TEST_ASSERT_DOUBLE_WITHIN(0.02, 3.0,
                            static_cast<double>(given[2]) / static_cast<double>(given[1]));
}

TEST(lara_leaves_out_the_task_that_would_make_others_late) {
  Lara policy;
  std::vector<core::Task> tasks = {task_of(1, loss_at(62'000), kDeadline),
                                   task_of(2, loss_at(32'000), kDeadline),
                                   task_of(3, loss_at(52'000), kDeadline)};
  for (core::Task& task : tasks) learn(policy, task, 0.5, 20);
  auto given = shares(policy, tasks);
  TEST_ASSERT_EQUAL_UINT32(0, given[1]);
  TEST_ASSERT_TRUE(given[2] > 0 && given[3] > 0);
  TEST_ASSERT_TRUE(policy.explain(tasks[0]).find("others finish") != std::string::npos);
  TEST_ASSERT_TRUE(policy.explain(tasks[1]).find("needs 30 s") != std::string::npos);
}

TEST(lara_runs_the_task_that_gains_most_when_nobody_can_finish) {
  Lara policy;
  std::vector<core::Task> tasks = {task_of(1, 1e-9, kDeadline), task_of(2, 1e-9, kDeadline)};
  learn(policy, tasks[0], 0.1, 20);
  learn(policy, tasks[1], 0.5, 20);
  auto given = shares(policy, tasks);
  TEST_ASSERT_EQUAL_UINT32(core::kShareWholePpm, given[2]);
}

TEST(an_archive_whose_tasks_are_out_of_order_is_refused) {
  for (const char* name : {"lara", "laira", "uara-uniform-printed"}) {
    const auto policy = std::move(*make_policy(name));
    std::vector<core::Task> tasks = {task_of(77, 0.1, kDeadline), task_of(78, 0.1, kDeadline)};
    std::vector<Candidate> candidates;
    for (const core::Task& task : tasks) candidates.push_back({&task, true});
    Decision out;
    policy->decide(LaneView{0, core::LaneKind::kCpu, 0, kSecond, candidates, 0}, out);
    Bytes bytes;
    Archive writer = Archive::writer(bytes);
    policy->archive(writer);
    const auto first = std::find(bytes.begin(), bytes.end(), Bytes::value_type{77});
    TEST_ASSERT_TRUE(first != bytes.end());
    for (const int key : {76, 79}) {  // still the smaller, then the larger one
      *first = static_cast<Bytes::value_type>(key);
      Archive reader = Archive::reader(bytes);
      const auto fresh = std::move(*make_policy(name));
      fresh->archive(reader);
      TEST_ASSERT_EQUAL_INT_MESSAGE(key == 79, reader.failed(), name);
    }
  }
}
