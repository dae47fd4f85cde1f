#include "estimators/lane/bank_lane.hpp"

#include <cmath>

#include "tests/harness/random.hpp"
#include "tests/harness/unit.hpp"

namespace lane = laird::lane;

namespace {

lane::BankConstants<double> constants() { return {0.7, -0.2, 0.01, 0.4, 1.5, 0.1}; }
lane::BankState<double> state() { return {1.0, -0.6, 0.05, -0.01, 0.2, 0.1}; }

}  // namespace

TEST(no_time_changes_nothing_but_what_a_report_says) {
  lane::BankState<double> s = state();
  lane::bank_ahead(s, constants(), 0.0);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, s.level);
  TEST_ASSERT_EQUAL_DOUBLE(-0.6, s.slope);
  TEST_ASSERT_EQUAL_DOUBLE(0.05, s.p_ll);
  TEST_ASSERT_EQUAL_DOUBLE(0.2, s.p_ss);
}

TEST(two_half_steps_are_near_to_one_whole) {
  // The damping is a power of 1 + kappa d / 8 and not an exponential, so near and not the same.
  lane::BankState<double> once = state();
  lane::BankState<double> twice = state();
  lane::bank_ahead(once, constants(), 0.2);
  lane::bank_ahead(twice, constants(), 0.1);
  lane::bank_ahead(twice, constants(), 0.1);
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, once.level, twice.level);
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, once.slope, twice.slope);
  TEST_ASSERT_DOUBLE_WITHIN(1e-3, once.p_ll, twice.p_ll);
}

TEST(the_slope_returns_to_its_mean_and_the_damping_is_nearly_exponential) {
  lane::BankState<double> s = state();
  const double d = 0.5;
  lane::bank_ahead(s, constants(), d);
  const double e = std::exp(-0.7 * d);
  TEST_ASSERT_DOUBLE_WITHIN(5e-3, -0.2 + (-0.6 + 0.2) * e, s.slope);
  TEST_ASSERT_DOUBLE_WITHIN(5e-3, 1.0 - 0.4 * (1.0 - e) / 0.7 - 0.2 * d, s.level);
  for (int i = 0; i < 200; ++i) lane::bank_ahead(s, constants(), 1.0);
  TEST_ASSERT_DOUBLE_WITHIN(1e-9, -0.2, s.slope);
}

TEST(a_report_moves_the_level_towards_it_and_leaves_the_filter_surer) {
  lane::BankState<double> s = state();
  lane::bank_correct(s, constants(), 0.8, 0.01);
  TEST_ASSERT_TRUE(s.level < 1.0 && s.level > 0.8);
  TEST_ASSERT_TRUE(s.p_ll > 0.0 && s.p_ll < 0.05);
  TEST_ASSERT_TRUE(s.p_ll * s.p_ss > s.p_ls * s.p_ls);
}

TEST(a_filter_that_foretold_a_report_gains_on_one_that_did_not) {
  lane::BankState<double> right = state();
  lane::BankState<double> wrong = state();
  wrong.level = 2.0;
  lane::bank_correct(right, constants(), 1.0, 0.01);
  lane::bank_correct(wrong, constants(), 1.0, 0.01);
  TEST_ASSERT_TRUE(right.weight > 3.0 * wrong.weight);
}

TEST(covariances_stay_positive_definite_over_a_hundred_thousand_reports) {
  laird::test::Random random;
  lane::BankState<double> s = state();
  for (int n = 0; n < 100'000; ++n) {
    lane::bank_ahead(s, constants(), n % 9 == 0 ? 0.0 : 0.3 * random.unit());
    lane::bank_correct(s, constants(), random.bell(), 1e-4 + random.unit());
    TEST_ASSERT_TRUE(s.p_ll > 0.0 && s.p_ss > 0.0 && s.p_ll * s.p_ss > s.p_ls * s.p_ls);
    s.weight = lane::bank_shared_weight(s.weight, 0.1, s.weight, 0.01);
  }
}
