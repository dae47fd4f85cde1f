#include "trainers/data/dataset.hpp"

#include <cmath>
#include <cstring>

#include "tests/harness/unit.hpp"
#include "trainers/model/load_data.hpp"

using namespace laird;
using namespace laird::trainers;

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

TEST(synthetic_data_depends_on_its_seed_alone) {
  DataParams params;
  params.rows = 50;
  params.classes = 3;
  const Dataset a = make_synthetic(params);
  const Dataset b = make_synthetic(params);
  TEST_ASSERT_TRUE(a.values == b.values && a.labels == b.labels);
  params.seed = 2;
  TEST_ASSERT_FALSE(make_synthetic(params).values == a.values);
}

TEST(fashion_mnist_loads_from_its_gzip_files) {
  Params params;
  params.data.format = Format::kIdx;
  params.data.images = "/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz";
  params.data.labels = "/usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz";
  const auto data = load_data(params);
  if (!data && data.error().code == Code::kNotFound) {
    TEST_IGNORE_MESSAGE("skipped: the package dataset-fashion-mnist is not installed");
  }
  TEST_ASSERT_TRUE(data.has_value());
  TEST_ASSERT_EQUAL_UINT32(10'000, data->rows);
  TEST_ASSERT_EQUAL_UINT32(784, data->features);
  TEST_ASSERT_EQUAL_UINT32(10, data->classes);
  int ankle_boots = 0;
  for (const std::uint16_t label : data->labels) ankle_boots += label == 9 ? 1 : 0;
  TEST_ASSERT_EQUAL_INT(1000, ankle_boots);
}
