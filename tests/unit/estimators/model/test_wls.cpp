#include "estimators/model/wls.hpp"

#include <cmath>
#include <limits>

#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using laird::estimators::DiscountedLeastSquares;
using laird::estimators::kRateNever;
using laird::estimators::Observed;
using laird::estimators::predicted_rate;
using laird::estimators::required_rate;

TEST(recovers_a_power_law_whatever_the_discount) {
  for (const double gamma : {0.5, 0.7, 1.0}) {
    DiscountedLeastSquares wls({gamma, 1e-12});
    for (const double s : {1.0, 2.0, 4.0, 9.0}) wls.observe(s, 8.0 / std::sqrt(s));
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, -0.5, wls.slope());
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, std::log(8.0), wls.intercept());
    TEST_ASSERT_DOUBLE_WITHIN(1e-8, 0.8, wls.loss_at(100.0));
  }
}

TEST(agrees_with_equation_9_solved_directly) {
  // Three points, gamma 1/2, lambda 0.1; V and b summed as printed and solved by Cramer's rule.
  const double x[3] = {0.0, std::log(10.0), std::log(50.0)};
  const double r[3] = {std::log(3.0), std::log(2.0), std::log(1.5)};
  DiscountedLeastSquares wls({0.5, 0.1});
  wls.observe(1.0, 3.0);
  wls.observe(10.0, 2.0);
  wls.observe(50.0, 1.5);
  double v11 = 0.1, v12 = 0.0, v22 = 0.1, b1 = 0.0, b2 = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double w = std::pow(0.5, 2 - i);
    v11 += w * x[i] * x[i];
    v12 += w * x[i];
    v22 += w;
    b1 += w * r[i] * x[i];
    b2 += w * r[i];
  }
  const double det = v11 * v22 - v12 * v12;
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, (v22 * b1 - v12 * b2) / det, wls.slope());
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, (v11 * b2 - v12 * b1) / det, wls.intercept());
  const double q = std::log(200.0);
  const double norm = std::sqrt((v22 * q * q - 2.0 * v12 * q + v11) / det);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, norm, wls.norm_at(200.0));
}

TEST(beta_of_theorem_1_by_hand) {
  // One report at s = 1: L_n = 1 and the discounted sum is 1, so
  // beta = sqrt(1) 2 + 0.5 sqrt(2 ln 10 + 2 ln 1.5) = 2 + 0.5 sqrt(5.416100402) = 3.163625.
  DiscountedLeastSquares wls({0.5, 1.0});
  wls.observe(1.0, 1.0);
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, 3.1636258, wls.beta({0.1, 2.0, 0.5}));
}

TEST(the_lower_bound_is_below_the_forecast_and_tightens_with_reports) {
  DiscountedLeastSquares wls({1.0, 0.01});
  double width_last = 1e9;
  for (int i = 1; i <= 64; ++i) {
    wls.observe(i, 2.0 / std::sqrt(i));
    if (i < 2 || (i & (i - 1)) != 0) continue;
    const double width = wls.log_loss_at(100.0) - wls.log_loss_lower(100.0, {});
    TEST_ASSERT_TRUE(width > 0.0);
    TEST_ASSERT_TRUE(width < width_last);
    width_last = width;
  }
}

TEST(required_rate_is_equation_11_with_a_defined_start) {
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5, required_rate(2.0, 1.0, 100.0, 300.0, 10.0));
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 0.5, required_rate(2.0, 1.0, 0.0, 300.0, 100.0));
  TEST_ASSERT_EQUAL_DOUBLE(0.0, required_rate(0.5, 1.0, 100.0, 300.0, 10.0));
  TEST_ASSERT_EQUAL_DOUBLE(kRateNever, required_rate(2.0, 1.0, 100.0, 0.0, 10.0));
}

TEST(predicted_rate_exceeds_the_true_rate_by_the_exploration_bonus) {
  DiscountedLeastSquares wls({1.0, 0.01});
  TEST_ASSERT_EQUAL_DOUBLE(0.0, predicted_rate(wls, 1.0, 0.0, 10.0, 1.0, {}));
  for (int i = 1; i <= 50; ++i) wls.observe(i, 2.0 * std::pow(i, -0.4));
  const double loss = 2.0 * std::pow(50.0, -0.4);
  const double rate = predicted_rate(wls, loss, 50.0, 50.0, 1.0, {});
  TEST_ASSERT_TRUE(rate > 0.4);
}

TEST(stays_exact_at_large_sample_counts) {
  // At s near 1e12, ln s moves in the tenth digit per report; the centred sums must not cancel.
  DiscountedLeastSquares wls({0.9, 1e-12});
  for (int i = 0; i < 1000; ++i) {
    const double s = 1e12 + 1e9 * i;
    wls.observe(s, 5.0 * std::pow(s, -0.25));
  }
  TEST_ASSERT_DOUBLE_WITHIN(1e-6, -0.25, wls.slope());
}

TEST(refuses_what_has_no_logarithm_and_samples_that_go_back) {
  DiscountedLeastSquares wls({0.7, 1e-6});
  wls.observe(10.0, 2.0);
  wls.observe(20.0, 1.5);
  const double before = wls.log_loss_at(100.0);
  const double inf = std::numeric_limits<double>::infinity();
  for (const double loss : {0.0, -1.0, inf, -inf, std::nan("")}) {
    TEST_ASSERT_TRUE(wls.observe(30.0, loss) == Observed::kRefusedLoss);
  }
  for (const double samples : {19.0, -1.0, inf, std::nan("")}) {
    TEST_ASSERT_TRUE(wls.observe(samples, 1.0) == Observed::kRefusedSamples);
  }
  TEST_ASSERT_EQUAL_DOUBLE(before, wls.log_loss_at(100.0));
  TEST_ASSERT_TRUE(wls.observe(20.0, 1.4) == Observed::kFused);
  TEST_ASSERT_TRUE(std::isfinite(wls.loss_at(100.0)));
}
