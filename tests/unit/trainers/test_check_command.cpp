#include "trainers/check_command.hpp"

#include <cstring>

#include "tests/harness/unit.hpp"

using namespace laird;
using namespace laird::trainers;

TEST(says_what_a_training_would_have_and_need) {
  Params params;
  params.kind = Kind::kMlp;
  params.hidden = {16};
  params.data.rows = 1000;
  params.data.features = 10;
  params.data.classes = 4;
  params.held_out = 0.1;
  const Result<Estimate> found = estimate(params);
  TEST_ASSERT_TRUE(found.has_value());
  TEST_ASSERT_EQUAL_UINT32(900, found->rows);
  TEST_ASSERT_EQUAL_UINT32(100, found->held_out);
  TEST_ASSERT_EQUAL_UINT32(4, found->classes);
  TEST_ASSERT_EQUAL_DOUBLE(10 * 16 + 16 * 4, found->weights);
  Params larger = params;
  larger.data.rows = 100'000;
  TEST_ASSERT_TRUE(estimate(larger)->memory_bytes - found->memory_bytes > 99'000 * 40);
}

TEST(refuses_what_the_training_would_refuse) {
  Params params;
  params.data.format = Format::kCsv;
  params.data.path = "/no/such/file.csv";
  const Result<Estimate> missing = estimate(params);
  TEST_ASSERT_FALSE(missing.has_value());
  TEST_ASSERT_NOT_NULL(std::strstr(missing.error().context.c_str(), "/no/such/file.csv"));
  Params large;
  large.kind = Kind::kMlp;
  large.hidden = {8192, 8192};
  large.data.rows = 10;
  TEST_ASSERT_FALSE(estimate(large).has_value());
}
