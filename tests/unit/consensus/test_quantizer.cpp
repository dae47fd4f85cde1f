#include "consensus/quantizer.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird::consensus;

TEST(price_code_stays_within_half_a_step_in_the_log_domain) {
  const double bound = std::exp(0.0625) * 1.0005;
  for (double x = 1100; x < 6e16; x *= 1.013) {
    const auto value = static_cast<std::int64_t>(x);
    const double back = static_cast<double>(price_difference(price_code(value)));
    TEST_ASSERT_TRUE(back / x < bound);
    TEST_ASSERT_TRUE(x / back < bound);
  }
}

TEST(price_code_keeps_the_sign_and_order) {
  int last = -kPriceCodeMax;
  for (std::int64_t v : {INT64_MIN, -INT64_C(5000000000), INT64_C(-2000), INT64_C(0), INT64_C(1),
                         INT64_C(2000), INT64_C(70000000), INT64_MAX}) {
    TEST_ASSERT_TRUE(price_code(v) >= last);
    TEST_ASSERT_EQUAL_INT(-price_code(v == INT64_MIN ? INT64_MAX : -v), price_code(v));
    last = price_code(v);
  }
  TEST_ASSERT_EQUAL_INT(0, price_code(0));
  TEST_ASSERT_EQUAL_INT(kPriceCodeMax, price_code(INT64_MAX));
}

TEST(every_code_is_its_own_nearest_code) {
  for (int code = -kPriceCodeMax; code <= kPriceCodeMax; ++code) {
    TEST_ASSERT_EQUAL_INT(code, price_code(price_difference(code)));
  }
}

TEST(flows_round_down_to_four_binary_digits) {
  TEST_ASSERT_EQUAL_INT64(0, flow_floor(0));
  TEST_ASSERT_EQUAL_INT64(0, flow_floor(-7));
  TEST_ASSERT_EQUAL_INT64(15, flow_floor(15));
  TEST_ASSERT_EQUAL_INT64(16, flow_floor(17));
  TEST_ASSERT_EQUAL_INT64(30, flow_floor(31));
  for (Parts v = 1; v < kWhole; v = v * 3 / 2 + 1) {
    const Parts f = flow_floor(v);
    TEST_ASSERT_TRUE(f <= v);
    TEST_ASSERT_TRUE(v - f <= v / 8);
  }
}
