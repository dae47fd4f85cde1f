#include "models/metric.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird::models;

TEST(losses_are_those_of_the_trainers) {
  const std::vector<float> z = {2.0F, 0.0F, 0.0F, 3.0F};
  const std::vector<float> y = {0.0F, 0.0F};
  Judge judge{Loss::kCrossEntropy, Decision::kLargest, 2, 1.0};
  const Metric cross = metric_of(judge, z, y);
  const double expected = (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(3.0))) / 2;
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, expected, cross.loss);
  TEST_ASSERT_EQUAL_DOUBLE(0.5, *cross.accuracy);
  judge.loss = Loss::kHinge;
  TEST_ASSERT_EQUAL_DOUBLE(2.0, metric_of(judge, z, y).loss);  // 0 and 4
  judge.loss = Loss::kSquared;
  TEST_ASSERT_EQUAL_DOUBLE(2.75, metric_of(judge, z, y).loss);  // (1 + 0) / 2 and (1 + 9) / 2
}

TEST(one_output_decides_by_its_sign) {
  const Judge judge{Loss::kHinge, Decision::kSign, 1, 1.0};
  const Metric m =
      metric_of(judge, std::vector<float>{2.0F, -0.5F, 0.5F}, std::vector<float>{1.0F, 0.0F, 0.0F});
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 / 3.0, *m.accuracy);
  TEST_ASSERT_DOUBLE_WITHIN(1e-12, 2.0 / 3.0, m.loss);  // 0, 0.5 and 1.5
}

TEST(numbers_are_judged_in_their_deviation) {
  const Judge judge{Loss::kSquared, Decision::kNumber, 1, 10.0};
  const Metric m = metric_of(judge, std::vector<float>{110.0F}, std::vector<float>{90.0F});
  TEST_ASSERT_EQUAL_DOUBLE(4.0, m.loss);
  TEST_ASSERT_FALSE(m.accuracy.has_value());
  TEST_ASSERT_EQUAL_DOUBLE(0.5, agreement_of(judge, std::vector<float>{100.0F, 100.0F},
                                             std::vector<float>{100.05F, 100.5F})
                                    .part);
}

TEST(agreement_counts_decisions_and_names_the_largest_difference) {
  const Judge judge{Loss::kCrossEntropy, Decision::kLargest, 2, 1.0};
  const Agreement a = agreement_of(judge, std::vector<float>{1.0F, 0.0F, 0.0F, 1.0F},
                                   std::vector<float>{0.5F, 0.0F, 1.0F, 0.5F});
  TEST_ASSERT_EQUAL_DOUBLE(0.5, a.part);
  TEST_ASSERT_EQUAL_DOUBLE(1.0, a.largest);
}

TEST(no_number_agrees_with_nothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Judge judge{Loss::kCrossEntropy, Decision::kLargest, 2, 1.0};
  const Agreement a = agreement_of(judge, std::vector<float>{1.0F, 0.0F, 1.0F, 0.0F},
                                   std::vector<float>{nan, 0.0F, 1.0F, 0.0F});
  TEST_ASSERT_EQUAL_DOUBLE(0.5, a.part);
  TEST_ASSERT_FALSE(a.largest <= 1e9);
}
