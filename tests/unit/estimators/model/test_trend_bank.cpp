#include "estimators/model/trend_bank.hpp"

#include <cmath>

#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

using namespace laird::estimators;

namespace {

double weight_of(const TrendBank& bank, std::size_t damping) {
  return bank.summary().groups[damping].weight;
}

}  // namespace

TEST(one_filter_does_what_textbook_matrices_do) {
  const TrendConstants c = {0.3, -0.2, 0.01, 0.3, 0.5};
  TrendState s = {0.7, -0.4, 0.02, 0.003, 0.3, 1.0};
  const TrendState before = s;
  const double d = 0.25;
  s = trend_ahead(c, s, d);
  const double x = 1.0 / (1.0 + c.damping * d / 8.0);
  const double e = std::pow(x, 8.0);
  const double a = 8.0 / (7.0 * c.damping) * (1.0 - std::pow(x, 7.0));
  TEST_ASSERT_DOUBLE_WITHIN(
      1e-14, before.level + a * (before.slope - c.slope_mean) + c.slope_mean * d, s.level);
  TEST_ASSERT_DOUBLE_WITHIN(1e-14, c.slope_mean + e * (before.slope - c.slope_mean), s.slope);
  // F P F' + Q with F = [1 a; 0 e].
  const double w = c.slope_noise * (1.0 - e * e) / (2.0 * c.damping);
  TEST_ASSERT_DOUBLE_WITHIN(1e-14,
                            before.p_ll + 2.0 * a * before.p_ls + a * a * before.p_ss +
                                c.level_noise * d + w * a * a / 3.0,
                            s.p_ll);
  TEST_ASSERT_DOUBLE_WITHIN(1e-14, e * (before.p_ls + a * before.p_ss) + w * a / 2.0, s.p_ls);
  TEST_ASSERT_DOUBLE_WITHIN(1e-14, e * e * before.p_ss + w, s.p_ss);
  const TrendState ahead = s;
  trend_update(c, s, 0.5, 0.01);
  const double variance = ahead.p_ll + c.noise_factor * 0.01;
  const double z = 0.5 - ahead.level;
  TEST_ASSERT_DOUBLE_WITHIN(1e-14, ahead.level + ahead.p_ll / variance * z, s.level);
  TEST_ASSERT_DOUBLE_WITHIN(1e-14, ahead.p_ss - ahead.p_ls * ahead.p_ls / variance, s.p_ss);
  TEST_ASSERT_DOUBLE_WITHIN(
      1e-12, 1.0 / (std::sqrt(std::sqrt(variance)) * (1.0 + z * z / (3.0 * variance))), s.weight);
}

TEST(weights_stay_a_distribution_and_covariances_positive) {
  TrendBank bank;
  laird::test::Random points;
  for (int i = 0; i < 20'000; ++i) {
    const double level = i % 1000 < 500 ? 0.0 : -6.0;
    bank.observe(0.001 + 2.0 * points.unit() * points.unit(), level + points.bell());
    double sum = 0.0;
    for (const auto& group : bank.summary().groups) sum += group.weight;
    TEST_ASSERT_DOUBLE_WITHIN(1e-9, 1.0, sum);
  }
  TEST_ASSERT_TRUE(bank.all_finite());
  TEST_ASSERT_TRUE(bank.summary().outlook(3.0).variance > 0.0);
}

TEST(a_power_law_is_extrapolated_and_a_plateau_is_not) {
  TrendBank falls;
  TrendBank rests;
  for (int i = 1; i <= 100; ++i) {
    const double step = i == 1 ? 0.0 : std::log((i + 1.0) / i);
    falls.observe(step, -0.5 * std::log(i + 1.0));
    rests.observe(step, i < 20 ? -0.5 * std::log(i + 1.0) : -0.5 * std::log(21.0));
  }
  const double now = falls.summary().outlook(0.0).mean;
  TEST_ASSERT_TRUE(falls.summary().outlook(1.0).mean < now - 0.35);
  const double resting = rests.summary().outlook(0.0).mean;
  TEST_ASSERT_TRUE(rests.summary().outlook(1.0).mean > resting - 0.2);
  TEST_ASSERT_TRUE(weight_of(falls, 0) > weight_of(rests, 0));
}

TEST(the_summary_at_a_distance_is_the_sum_over_the_filters) {
  TrendBank bank;
  laird::test::Random points;
  for (int i = 1; i <= 30; ++i) {
    bank.observe(i == 1 ? 0.0 : std::log((i + 1.0) / i), 1.0 / i + 0.05 * points.bell());
  }
  const TrendBank::Summary summary = bank.summary();
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, bank.level(), summary.outlook(0.0).mean);
  double last = summary.outlook(0.0).variance;
  for (double d = 0.5; d < 8.0; d += 0.5) {
    const double variance = summary.outlook(d).variance;
    TEST_ASSERT_TRUE(variance > last);
    last = variance;
  }
}
