#include "trainers/privacy/secure_noise.hpp"

#include <cmath>
#include <vector>

#include "tests/harness/unit.hpp"

using namespace laird::trainers;

// Of 200,000 numbers; the bounds are six deviations of what is looked at, so that chance fails it
// once in 500 million runs.
TEST(noise_is_normal_and_never_the_same) {
  constexpr int kCount = 200'000;
  SecureNoise noise;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  int beyond_two = 0;
  for (int k = 0; k < kCount; ++k) {
    const auto x = noise.next();
    TEST_ASSERT_TRUE(x.has_value());
    sum += *x;
    squares += *x * *x;
    fourths += *x * *x * *x * *x;
    beyond_two += std::abs(*x) > 2.0 ? 1 : 0;
  }
  const double root = std::sqrt(static_cast<double>(kCount));
  TEST_ASSERT_DOUBLE_WITHIN(6.0 / root, 0.0, sum / kCount);
  TEST_ASSERT_DOUBLE_WITHIN(6.0 * std::sqrt(2.0) / root, 1.0, squares / kCount);
  TEST_ASSERT_DOUBLE_WITHIN(6.0 * std::sqrt(96.0) / root, 3.0, fourths / kCount);
  TEST_ASSERT_DOUBLE_WITHIN(6.0 * 0.21 / root, 0.0455, static_cast<double>(beyond_two) / kCount);
  SecureNoise other;
  TEST_ASSERT_TRUE(*noise.next() != *other.next());
}

TEST(what_is_told_has_the_noise_asked_for_and_lies_on_the_grid) {
  constexpr std::size_t kCount = 100'000;
  constexpr double kSensitivity = 0.02;
  constexpr double kTimes = 5.0;
  std::vector<double> told(kCount, 1.0 / 3.0);
  SecureNoise noise;
  TEST_ASSERT_TRUE(make_private(told, kSensitivity, kTimes, noise).has_value());
  const double grid = grid_of(kSensitivity * kTimes);
  TEST_ASSERT_TRUE(grid <= kSensitivity * kTimes / 1048576.0 &&
                   grid > kSensitivity * kTimes / 2097152.0);
  double squares = 0.0;
  for (const double v : told) {
    squares += (v - 1.0 / 3.0) * (v - 1.0 / 3.0);
    TEST_ASSERT_EQUAL_DOUBLE(std::round(v / grid), v / grid);
  }
  // Never less than asked for: what rounding adds to the sensitivity is noised too.
  const double deviation = std::sqrt(squares / kCount) / (kSensitivity * kTimes);
  TEST_ASSERT_DOUBLE_WITHIN(6.0 / std::sqrt(2.0 * kCount) + 0.002, 1.001, deviation);
}
