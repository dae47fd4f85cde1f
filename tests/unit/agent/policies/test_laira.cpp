#include "agent/policies/laira.hpp"

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

FakeTrainer trainer(double slope) {
  FakeTrainer t;
  t.loss_slope = slope;
  t.start_ns = kMillisecond;
  return t;
}

core::Task running_task(core::TaskKey key, double target) {
  core::Task task;
  task.key = key;
  task.rate = 1000.0;
  task.spec.report_every = 100;
  task.spec.target_loss = target;
  task.deadline_at = 1000 * kSecond;
  return task;
}

void report(Policy& policy, core::Task& task, double loss) {
  task.samples += 100;
  task.loss = loss;
  policy.observe(task);
}

double power_law(const core::Task& task, double exponent) {
  return exact::pow(static_cast<double>(task.samples + 100), -exponent);
}

Decision decide(Policy& policy, std::vector<Candidate> candidates,
                std::uint32_t ceiling_ppm = core::kShareWholePpm) {
  Decision out;
  policy.decide(LaneView{0, core::LaneKind::kCpu, kSecond, kSecond, candidates, 0, ceiling_ppm},
                out);
  return out;
}

}  // namespace

TEST(laira_gives_every_task_two_reports_before_it_compares_them) {
  Laira policy(kLaira);
  core::Task a = running_task(1, 0.01);
  core::Task b = running_task(2, 0.01);
  for (int i = 0; i < 5; ++i) report(policy, a, power_law(a, 0.5));
  report(policy, b, 1.0);
  TEST_ASSERT_EQUAL_UINT32(2, decide(policy, {{&a, true}, {&b, true}}).choices[0].key);
}

TEST(laira_shortens_its_slice_when_predictions_get_worse) {
  // As the prose says; as the formula is printed it would lengthen.
  Laira policy(kLaira);
  core::Task a = running_task(1, 1e-4);
  for (int i = 0; i < 10; ++i) report(policy, a, power_law(a, 0.5));
  DurationNs calm = 0;
  for (int slice = 0; slice < 6; ++slice) {
    calm = decide(policy, {{&a, true}}).slice;
    for (int i = 0; i < 10; ++i) report(policy, a, power_law(a, 0.5));
  }
  report(policy, a, 1.5 * power_law(a, 0.5));
  TEST_ASSERT_TRUE(decide(policy, {{&a, true}}).slice < calm);

  Laira fixed(kLairaNoPd);
  for (int i = 0; i < 3; ++i) report(fixed, a, 1.0);
  const DurationNs before = decide(fixed, {{&a, true}}).slice;
  report(fixed, a, 5.0);
  TEST_ASSERT_EQUAL_INT64(before, decide(fixed, {{&a, true}}).slice);
}

TEST(laira_excludes_what_its_look_ahead_rules_out_and_sta_does_not) {
  for (const LairaForm* form : {&kLaira, &kSta}) {
    Laira policy(*form);
    core::Task steep = running_task(1, 1e-9);    // falls fast, target out of reach
    core::Task feasible = running_task(2, 0.2);  // falls slowly, target near
    for (int i = 0; i < 20; ++i) {
      report(policy, steep, power_law(steep, 0.5));
      report(policy, feasible, 0.5 * power_law(feasible, 0.1));
    }
    const Decision decision = decide(policy, {{&steep, true}, {&feasible, true}});
    if (form == &kLaira) TEST_ASSERT_EQUAL_UINT32(2, decision.choices[0].key);
    const bool says = policy.explain(steep).find("excluded") != std::string::npos;
    TEST_ASSERT_EQUAL_INT(form == &kLaira, says);
  }
}

TEST(laira_looks_ahead_only_as_far_as_the_lanes_ceiling_lets_it_get) {
  // 440,000 samples away, at 1000 a second and 999 seconds: only with most of the lane.
  for (const std::uint32_t ceiling_ppm : {core::kShareWholePpm, 100'000u}) {
    Laira policy(kLaira);
    core::Task far = running_task(1, 0.0015);
    core::Task near = running_task(2, 0.2);
    for (int i = 0; i < 20; ++i) {
      report(policy, far, power_law(far, 0.5));
      report(policy, near, 0.5 * power_law(near, 0.1));
    }
    static_cast<void>(decide(policy, {{&far, true}, {&near, true}}, ceiling_ppm));
    const bool excluded = policy.explain(far).find("excluded") != std::string::npos;
    TEST_ASSERT_EQUAL_INT(ceiling_ppm < core::kShareWholePpm, excluded);
  }
}

TEST(laira_tries_an_excluded_task_again) {
  FakeBoard board(test::small_board("laira"));
  board.submit(test::small_task("excluded", 30 * kMinute, 1e-9), trainer(0.3));
  board.submit(test::small_task("feasible", 30 * kMinute, 0.02), trainer(0.28));
  board.run_for(20 * kSecond);
  const std::uint64_t early = board.task("excluded")->samples;
  board.run_for(20 * kMinute);
  TEST_ASSERT_EQUAL_STRING("none", std::string(name(board.task("excluded")->outcome)).c_str());
  TEST_ASSERT_TRUE(board.task("excluded")->samples > early);
}

TEST(laira_runs_the_nearest_miss_when_nothing_is_feasible) {
  Laira policy(kLaira);
  core::Task far = running_task(1, 1e-12);
  core::Task near = running_task(2, 1e-4);
  for (int i = 0; i < 20; ++i) {
    report(policy, far, power_law(far, 0.1));
    report(policy, near, power_law(near, 0.1));
  }
  TEST_ASSERT_EQUAL_UINT32(2, decide(policy, {{&far, true}, {&near, true}}).choices[0].key);
}

TEST(every_form_of_laira_goes_on_after_a_restart_as_if_there_was_none) {
  for (const char* policy : {"laira", "laira-no-pd", "laira-no-ucb", "sta"}) {
    TEST_ASSERT_EQUAL_HEX64_MESSAGE(test::digest_after_a_minute(policy, 4, false),
                                    test::digest_after_a_minute(policy, 4, true), policy);
  }
}
