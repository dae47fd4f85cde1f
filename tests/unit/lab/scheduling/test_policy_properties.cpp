// What holds for every policy on random bundles, after every step. A failing run says its policy
// and seed.
#include <cstdio>
#include <string>

#include "lab/scheduling/paper_bundles.hpp"
#include "lab/simulator/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::lab;

namespace {

// Ten tasks with random needs, deadlines, arrivals; some out of reach.
Bundle random_bundle(std::uint64_t seed) {
  lab::Random random(seed);
  Bundle out;
  for (int i = 0; i < 10; ++i) {
    auto curve = std::make_unique<std::vector<double>>();
    const double floor = random.below(3) == 0 ? 0.3 : 0.0;
    for (int p = 1; p <= 80; ++p) {
      curve->push_back(floor + (1.0 + 0.05 * random.unit()) / static_cast<double>(p));
    }
    SimulatedTask task;
    task.losses = curve.get();
    task.duration_units = random.between(40.0, 160.0);
    task.deadline_units = random.between(30.0, 250.0);
    task.arrival_units = random.below(2) == 0 ? 0.0 : random.between(0.0, 100.0);
    task.target_loss = random.between(0.02, 0.4);
    task.planned_length_known = random.below(2) == 0;
    task.restore_units = random.below(2) == 0 ? 0.0 : random.between(0.0, 5.0);
    task.checkpoint_units = random.between(0.0, 1.0);
    out.curves.push_back(std::move(curve));
    out.tasks.push_back(task);
  }
  return out;
}

bool shares_a_lane(std::string_view policy) {
  return policy == "uniform" || policy == "lara" || policy.find("uniform") != policy.npos ||
         policy.find("-lara") != policy.npos;
}

std::string check(const core::State& state, const core::Effects& commands, bool sharing) {
  for (const core::Lane& lane : state.lanes) {
    if (!sharing && lane.running.size() > 1) return "more than one task on a lane";
    std::uint64_t shares = 0;
    for (const core::TaskKey key : lane.running) shares += state.find_live(key)->share_ppm;
    if (shares > core::kShareWholePpm) return "more than the whole lane given out";
  }
  for (const core::Effect& command : commands) {
    const auto* run = std::get_if<core::RunTrainer>(&command.body);
    if (run == nullptr) continue;
    const core::Task* task = state.find_live(run->key);
    if (task == nullptr || state.now >= task->deadline_at) return "a slice past the deadline";
    if (run->cpu_milli == 0) return "a slice of nothing";
  }
  return {};
}

// The schedule as a digest: every grant, when it was given and how much of the lane.
std::uint64_t run_checked(std::string_view policy, std::uint64_t seed, std::size_t resident_max) {
  const Bundle bundle = random_bundle(seed);
  CurveBoard board{std::string(policy), seed};
  board.resident_max = resident_max;
  std::uint64_t digest = 0;
  std::string broken;
  board.after_step = [&](const core::State& state, const core::Effects& commands) {
    const std::string found = check(state, commands, shares_a_lane(policy));
    if (broken.empty()) broken = found;
    for (const core::Effect& command : commands) {
      const auto* run = std::get_if<core::RunTrainer>(&command.body);
      if (run == nullptr) continue;
      for (const std::uint64_t v :
           {static_cast<std::uint64_t>(state.now), static_cast<std::uint64_t>(run->key), run->until,
            static_cast<std::uint64_t>(run->cpu_milli)}) {
        digest = (digest ^ v) * 0x100000001B3ULL;
      }
    }
  };
  static_cast<void>(board.run(bundle.tasks));
  if (!broken.empty()) {
    std::printf("%s, seed %llu: %s\n", std::string(policy).c_str(),
                static_cast<unsigned long long>(seed), broken.c_str());
  }
  TEST_ASSERT_TRUE(broken.empty());
  return digest;
}

}  // namespace

TEST(every_policy_keeps_to_its_lane_its_budget_and_the_deadlines) {
  for (const std::string_view policy : policies::policy_names()) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) run_checked(policy, seed, seed % 3 * 2);
  }
}

TEST(the_same_seed_gives_the_same_schedule_and_another_does_not) {
  for (const std::string_view policy : policies::policy_names()) {
    TEST_ASSERT_TRUE(run_checked(policy, 5, 3) == run_checked(policy, 5, 3));
    TEST_ASSERT_FALSE(run_checked(policy, 5, 3) == run_checked(policy, 6, 3));
  }
}

TEST(a_paper_bundle_has_the_tasks_the_paper_says_and_those_out_of_reach_stay_so) {
  const auto in_reach = [](const Bundle& bundle, std::size_t number) {
    const SimulatedTask& task = bundle.tasks[number - 1];
    const double need = need_units(task);
    return need >= 0.0 && need < task.deadline_units;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Bundle pure = pure_bundle(seed);
    const Bundle mixed = mixed_bundle(seed);
    TEST_ASSERT_EQUAL_DOUBLE(1680.0, pure.tasks[2].deadline_units);
    TEST_ASSERT_EQUAL_DOUBLE(0.0024, mixed.tasks[8].target_loss);
    for (const std::size_t out : {2U, 5U, 6U, 9U}) TEST_ASSERT_FALSE(in_reach(pure, out));
    for (const std::size_t out : {2U, 6U, 7U}) TEST_ASSERT_FALSE(in_reach(mixed, out));
    for (const std::size_t in : {1U, 3U, 4U, 5U, 8U, 9U, 10U})
      TEST_ASSERT_TRUE(in_reach(mixed, in));
  }
}

TEST(at_a_hundred_tasks_laira_switches_ten_times_less_than_lara) {
  const Bundle bundle = scale_bundle(100, 1);
  const RunResult laira = CurveBoard("laira", 1).run(bundle.tasks);
  const RunResult lara = CurveBoard("lara", 1).run(bundle.tasks);
  TEST_ASSERT_TRUE(lara.switches >= 10 * laira.switches);
}
