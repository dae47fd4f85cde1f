#include "agent/placement/prospect.hpp"

#include "base/exact_math.hpp"
#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::placement;

namespace {

core::Task learned(double target, std::uint64_t planned, int reports = 40) {
  core::Task task;
  task.rate = 1000.0;
  task.spec.target_loss = target;
  task.planned_samples = planned;
  task.deadline_at = 500 * kSecond;
  for (int i = 1; i <= reports; ++i) {
    task.samples += 1000;
    static_cast<void>(task.forecast.observe(static_cast<double>(task.samples),
                                            exact::pow(static_cast<double>(i), -0.4)));
  }
  return task;
}

}  // namespace

TEST(a_nearer_target_is_likelier_reached_and_sooner) {
  for (const std::uint64_t planned : {std::uint64_t{0}, std::uint64_t{500'000}}) {
    const Prospect near = prospect_of(learned(0.2, planned), 1000.0);
    const Prospect far = prospect_of(learned(0.03, planned), 1000.0);
    TEST_ASSERT_TRUE(near.reach > 0.8);
    TEST_ASSERT_TRUE(far.reach < near.reach - 0.2);
    TEST_ASSERT_TRUE(near.need_quantile(0.5) < far.need_quantile(0.5));
  }
}

TEST(a_run_almost_over_is_unlikely_to_reach_what_it_has_not_come_near) {
  const Prospect early = prospect_of(learned(0.15, 400'000), 1000.0);
  const Prospect late = prospect_of(learned(0.15, 42'000), 1000.0);
  TEST_ASSERT_TRUE(late.reach < 0.5 * early.reach);
}

TEST(quantiles_of_the_need_rise_and_stay_within_the_length) {
  const Prospect p = prospect_of(learned(0.1, 500'000), 1000.0);
  double before = 0.0;
  for (int i = 0; i <= 100; ++i) {
    const double need = p.need_quantile(static_cast<double>(i) / 100.0);
    TEST_ASSERT_TRUE(need >= before && need <= p.length);
    before = need;
  }
}

TEST(the_need_is_the_forecasters_probability_read_the_other_way_round) {
  const core::Task task = learned(0.2, 500'000);
  const Prospect p = prospect_of(task, 1000.0);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, task.forecast.probability_below(0.2, 500'000.0, 500'000.0),
                            p.reach);
  for (const double u : {0.1, 0.5, 0.9}) {
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, u, p.within_samples(p.need_quantile(u)));
  }
}
