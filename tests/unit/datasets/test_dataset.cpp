#include "datasets/dataset.hpp"

#include <cmath>
#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::datasets;

TEST(standardised_bytes_have_mean_0_and_variance_1_over_all) {
  Dataset data;
  data.rows = 2;
  data.features = 2;
  data.bytes = {0, 10, 20, 30};
  data.standardise();
  float a[2] = {};
  float b[2] = {};
  data.row(0, a);
  data.row(1, b);
  TEST_ASSERT_FLOAT_WITHIN(1e-6F, 0.0F, a[0] + a[1] + b[0] + b[1]);
  TEST_ASSERT_FLOAT_WITHIN(1e-5F, 4.0F, a[0] * a[0] + a[1] * a[1] + b[0] * b[0] + b[1] * b[1]);
}

TEST(standardised_values_go_by_feature_and_a_constant_one_becomes_0) {
  Dataset data;
  data.rows = 2;
  data.features = 2;
  data.values = {1, 7, 3, 7};
  data.standardise();
  float a[2] = {};
  data.row(0, a);
  TEST_ASSERT_EQUAL_FLOAT(-1.0F, a[0]);
  TEST_ASSERT_EQUAL_FLOAT(0.0F, a[1]);
}

TEST(keeps_and_renumbers_the_listed_classes) {
  Dataset data;
  data.rows = 4;
  data.features = 1;
  data.classes = 3;
  data.bytes = {10, 11, 12, 13};
  data.labels = {0, 1, 2, 0};
  const std::int64_t kept[] = {2, 0};
  TEST_ASSERT_TRUE(data.keep_classes(kept).has_value());
  TEST_ASSERT_EQUAL_UINT32(3, data.rows);
  TEST_ASSERT_EQUAL_UINT32(2, data.classes);
  TEST_ASSERT_EQUAL_UINT8(12, data.bytes[1]);
  TEST_ASSERT_EQUAL_UINT16(1, data.labels[0]);
  TEST_ASSERT_EQUAL_UINT16(0, data.labels[1]);
  const std::int64_t absent[] = {0, 5};
  const Status s = data.keep_classes(absent);
  TEST_ASSERT_FALSE(s.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(s.error().context.c_str(), "there is no class 5"));
}
