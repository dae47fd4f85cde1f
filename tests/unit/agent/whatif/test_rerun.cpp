// A recorded life, run again: with nothing changed it is what it was; with another policy it is
// what the simulator makes of that policy; and each change changes what it says.
#include "agent/whatif/rerun.hpp"

#include <cstdio>
#include <cstdlib>

#include "agent/whatif/compare.hpp"
#include "tests/harness/unit.hpp"
#include "tests/unit/agent/whatif/lives.hpp"

using namespace laird;
using namespace laird::whatif;

namespace {

constexpr double kSameEndOfPolicies = 0.95;

// LAIRD_LIVES in the environment asks for more of them.
std::uint64_t lives() {
  const char* asked = std::getenv("LAIRD_LIVES");
  return asked == nullptr ? 50 : std::strtoull(asked, nullptr, 10);
}

unsigned long long as_count(std::uint64_t n) { return n; }

Recording recorded(std::uint64_t seed) {
  const test::DrawnLife life = test::draw_life(seed);
  return test::record_life(life, life.policy);
}

Rerun again(const Recording& recording, const Changes& changes, Beyond beyond = Beyond::kMedian) {
  auto out = run_again(recording, changes, beyond);
  TEST_ASSERT_TRUE(out.has_value());
  return std::move(*out);
}

// A life in which some task succeeded with time to spare and power was read.
Recording good_life() {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    const test::DrawnLife life = test::draw_life(seed);
    if (!life.metered || life.cap_mw != 0) continue;
    Recording out = test::record_life(life, life.policy);
    if (out.was.succeeded() >= 2) return out;
  }
  TEST_FAIL_MESSAGE("no such life among the seeds");
  return {};
}

const TaskEnd& first_success(const Recording& recording) {
  for (const TaskEnd& task : recording.was.tasks) {
    if (task.outcome == core::Outcome::kSucceeded) return task;
  }
  TEST_FAIL_MESSAGE("no task succeeded");
  return recording.was.tasks.front();
}

}  // namespace

TEST(with_nothing_changed_every_life_is_what_it_was) {
  double moved = 0.0;
  double energy = 0.0;
  std::uint64_t tasks = 0;
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    const Recording recording = recorded(seed);
    const Fidelity f = fidelity_of(recording.was, again(recording, {}).tally);
    if (!f.good()) {
      std::printf(
          "seed %llu: %llu of %llu tasks end as they did, ends moved by %.3f, energy by "
          "%+.3f\n",
          as_count(seed), as_count(f.same_end), as_count(f.tasks), f.end_moved_most, f.energy_off);
    }
    TEST_ASSERT_TRUE(f.good());
    tasks += f.tasks;
    moved = std::max(moved, f.end_moved_most);
    energy = std::max(energy, std::fabs(f.energy_off));
  }
  std::printf("seeds 1 to %llu, %llu tasks: ends moved by %.6f at most, energy by %.6f\n",
              as_count(lives()), as_count(tasks), moved, energy);
  TEST_ASSERT_TRUE(tasks > 2 * lives());
}

TEST(another_policy_gives_what_the_simulator_makes_of_it) {
  std::uint64_t same = 0;
  std::uint64_t all = 0;
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    const test::DrawnLife life = test::draw_life(seed);
    const Recording recording = test::record_life(life, life.policy);
    for (const char* policy : {"foresight", "round-robin", "lara"}) {
      if (life.policy == policy) continue;
      Changes changes;
      changes.policy = policy;
      const Recording truth = test::record_life(life, policy);
      const Fidelity f = fidelity_of(truth.was, again(recording, changes).tally);
      same += f.same_end;
      all += f.tasks;
    }
  }
  const double part = static_cast<double>(same) / static_cast<double>(all);
  std::printf("seeds 1 to %llu: %llu of %llu tasks end as the simulator ends them, %.1f%%\n",
              as_count(lives()), as_count(same), as_count(all), 100.0 * part);
  TEST_ASSERT_TRUE(part >= kSameEndOfPolicies);
}

TEST(a_lower_cap_draws_less) {
  const Recording recording = good_life();
  Changes changes;
  changes.caps = {{0, 6'000}};
  const Rerun capped = again(recording, changes);
  TEST_ASSERT_TRUE(capped.tally.energy_j < 0.95 * recording.was.energy_j);
  // One that begins when all is over changes nothing.
  changes.caps = {{recording.to - recording.from + kSecond, 6'000}};
  TEST_ASSERT_TRUE(fidelity_of(recording.was, again(recording, changes).tally).good());
}

TEST(a_target_out_of_reach_is_not_reached_and_is_marked_as_forecast) {
  const Recording recording = good_life();
  const TaskId id = first_success(recording).id;
  Changes changes;
  TaskEdit edit;
  edit.task = id.name;
  edit.target_loss = 1e-6;
  changes.edits = {edit};
  const Rerun rerun = again(recording, changes);
  const TaskEnd* task = rerun.tally.find(id);
  TEST_ASSERT_TRUE(task != nullptr && task->outcome != core::Outcome::kSucceeded);
  TEST_ASSERT_TRUE(rerun.beyond.count(id) == 1);
  TEST_ASSERT_TRUE(again(recording, {}).beyond.empty());
}

TEST(a_deadline_before_the_success_is_missed) {
  const Recording recording = good_life();
  const TaskEnd& was = first_success(recording);
  Changes changes;
  TaskEdit edit;
  edit.task = was.id.name;
  edit.deadline_after = (was.ended_at - was.accepted_at) / 2;
  changes.edits = {edit};
  const Rerun rerun = again(recording, changes);
  const TaskEnd* task = rerun.tally.find(was.id);
  TEST_ASSERT_TRUE(task->outcome == core::Outcome::kMissed);
  // Its trainer has a moment to save its work.
  const DurationNs late = task->ended_at - task->accepted_at - *edit.deadline_after;
  TEST_ASSERT_TRUE(late >= 0 && late < kSecond);
}

TEST(a_task_is_left_out_or_added) {
  const Recording recording = good_life();
  const TaskId id = first_success(recording).id;
  Changes changes;
  changes.without = {id.name};
  TEST_ASSERT_NULL(again(recording, changes).tally.find(id));
  changes = {};
  changes.added = {{"twin", id.name}};
  const Rerun with = again(recording, changes);
  const TaskEnd* twin = with.tally.find({"twin", 0});
  TEST_ASSERT_NOT_NULL(twin);
  TEST_ASSERT_TRUE(twin->samples > 0 && twin->ended_at > 0);
  TEST_ASSERT_EQUAL_UINT64(recording.was.tasks.size() + 1, with.tally.tasks.size());
}

TEST(trainers_twice_as_fast_end_sooner) {
  const Recording recording = good_life();
  const TaskEnd& was = first_success(recording);
  Changes changes;
  changes.speed = 2.0;
  const Rerun rerun = again(recording, changes);
  const TaskEnd* task = rerun.tally.find(was.id);
  TEST_ASSERT_TRUE(task->outcome == core::Outcome::kSucceeded);
  TEST_ASSERT_TRUE(task->ended_at < was.ended_at);
}

TEST(a_task_or_policy_that_is_not_there_is_refused_by_name) {
  const Recording recording = recorded(1);
  Changes changes;
  changes.without = {"nobody"};
  const auto refused = run_again(recording, changes);
  TEST_ASSERT_FALSE(refused.has_value());
  TEST_ASSERT_TRUE(refused.error().context.find("'nobody'") != std::string::npos);
  changes = {};
  changes.policy = "luck";
  TEST_ASSERT_FALSE(run_again(recording, changes).has_value());
}

TEST(a_fleets_budget_scales_what_a_board_had_above_its_floor) {
  FleetLimits limits;
  limits.cap_mw = 15'000;
  limits.floor_mw = 5'000;
  limits.floors_mw = 20'000;
  limits.divided_mw = 40'000;
  Changes changes;
  changes.budgets = {{0, 40'000}, {kMinute, std::nullopt}};
  TEST_ASSERT_EQUAL_INT64(10'000, *changes.changed(limits, kSecond).cap_mw);
  TEST_ASSERT_FALSE(changes.changed(limits, kMinute).cap_mw.has_value());
  changes.budgets = {{kMinute, 40'000}};
  TEST_ASSERT_EQUAL_INT64(15'000, *changes.changed(limits, kSecond).cap_mw);
}
