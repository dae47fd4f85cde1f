#include "estimators/model/kalman.hpp"

#include <cmath>
#include <limits>

#include "estimators/model/m4.hpp"
#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using laird::estimators::DampedTrendFilter;
using laird::estimators::DynamicKalmanFilter;
using laird::estimators::M4;
using laird::estimators::Observed;
using laird::estimators::RandomWalkFilter;

TEST(dkf_first_update_by_hand) {
  // s = 1, loss 1: x = 0, r = 0, so P = diag(10, 10, 1e-3, ...), gain of the level 10 / 10.01, and
  // the level's variance shrinks to 10 - 100 / 10.01 = 0.00999001.
  DynamicKalmanFilter dkf;
  dkf.observe(1.0, 1.0);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 10.0, dkf.state().p[0]);
  TEST_ASSERT_DOUBLE_WITHIN(1e-8, 0.00999001, dkf.state().p[2]);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, dkf.loss_at(1.0, 0.0));
}

TEST(filters_recover_a_power_law) {
  DynamicKalmanFilter dkf;
  RandomWalkFilter kf;
  for (int i = 1; i <= 200; ++i) {
    const double loss = 3.0 * std::pow(10.0 * i, -0.3);
    dkf.observe(10.0 * i, loss);
    kf.observe(10.0 * i, loss);
  }
  const double want = 3.0 * std::pow(4000.0, -0.3);
  TEST_ASSERT_DOUBLE_WITHIN(0.01 * want, want, dkf.loss_at(4000.0, 200.0));
  TEST_ASSERT_DOUBLE_WITHIN(0.01 * want, want, kf.loss_at(4000.0));
}

TEST(random_walk_second_update_by_hand) {
  // Both reports at s = 1 (x = 0): the level alone, process 0, R = 1, P0 = 1. First: gain 1/2, and
  // P = 1/2. Second, r = ln e = 1: gain (1/2) / (3/2) = 1/3, level 1/3.
  RandomWalkFilter kf({0.0, 1.0, 1.0});
  kf.observe(1.0, 1.0);
  kf.observe(1.0, std::exp(1.0));
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, std::exp(1.0 / 3.0), kf.loss_at(1.0));
}

TEST(damped_trend_flattens_towards_its_mean_slope) {
  DampedTrendFilter filter({2.0, 0.0, 0.1, 0.1, -0.5, 1e-4});
  for (int i = 1; i <= 300; ++i) filter.observe(i, 5.0 * std::pow(i, -0.5));
  // With kappa 2 and mean slope 0 at most slope / kappa = 1/4 of ln loss is still to be lost.
  const double now = filter.loss_at(300.0);
  const double far = filter.loss_at(3e8);
  TEST_ASSERT_TRUE(far < now);
  TEST_ASSERT_TRUE(far > now * std::exp(-0.26));
}

TEST(m4_recovers_its_own_law) {
  M4 m4;
  for (int i = 1; i <= 60; ++i) m4.observe(i, 4.0 * std::pow(i, -0.3));
  const double want = 4.0 * std::pow(600.0, -0.3);
  TEST_ASSERT_DOUBLE_WITHIN(0.01 * want, want, m4.loss_at(600.0));
}

TEST(m4_finds_an_asymptote) {
  M4 m4;
  for (int i = 1; i <= 200; ++i) m4.observe(i, 1.0 + 3.0 / i);
  TEST_ASSERT_DOUBLE_WITHIN(0.05, 1.0015, m4.loss_at(2000.0));
}

TEST(m4_is_bounded_and_says_the_last_loss_at_the_start) {
  M4 m4;
  m4.observe(1.0, 2.5);
  TEST_ASSERT_EQUAL_DOUBLE(2.5, m4.loss_at(100.0));
  for (int i = 2; i < 20'000; ++i) m4.observe(i, 2.0 / std::sqrt(i));
  TEST_ASSERT_TRUE(std::isfinite(m4.loss_at(1e6)));
}

template <class Filter>
void bad_reports_change_nothing() {
  Filter clean;
  Filter fed;
  const double inf = std::numeric_limits<double>::infinity();
  laird::test::Random points;
  for (int i = 1; i <= 50; ++i) {
    const double loss = 2.0 / std::sqrt(i) * std::exp(0.05 * points.bell());
    TEST_ASSERT_TRUE(accepted(clean.observe(10.0 * i, loss)));
    TEST_ASSERT_TRUE(accepted(fed.observe(10.0 * i, loss)));
    for (const double bad : {0.0, -1.0, inf, -inf, std::nan("")}) {
      TEST_ASSERT_TRUE(fed.observe(10.0 * i + 1.0, bad) == Observed::kRefusedLoss);
    }
    for (const double bad : {10.0 * i - 1.0, -5.0, inf, std::nan("")}) {
      TEST_ASSERT_TRUE(fed.observe(bad, 1.0) == Observed::kRefusedSamples);
    }
  }
  if constexpr (std::is_same_v<Filter, DynamicKalmanFilter>) {
    TEST_ASSERT_EQUAL_DOUBLE(clean.loss_at(1000.0, 10.0), fed.loss_at(1000.0, 10.0));
  } else {
    TEST_ASSERT_EQUAL_DOUBLE(clean.loss_at(1000.0), fed.loss_at(1000.0));
  }
}

TEST(bad_reports_change_no_filter) {
  bad_reports_change_nothing<DynamicKalmanFilter>();
  bad_reports_change_nothing<RandomWalkFilter>();
  bad_reports_change_nothing<DampedTrendFilter>();
  bad_reports_change_nothing<M4>();
}

TEST(repeated_sample_counts_are_absorbed) {
  DynamicKalmanFilter dkf;
  RandomWalkFilter kf;
  DampedTrendFilter dt;
  for (int i = 0; i < 100; ++i) {
    dkf.observe(50.0, 1.5);
    kf.observe(50.0, 1.5);
    dt.observe(50.0, 1.5);
  }
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 1.5, dkf.loss_at(50.0, 0.0));
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 1.5, kf.loss_at(50.0));
  TEST_ASSERT_DOUBLE_WITHIN(0.01, 1.5, dt.loss_at(50.0));
}
