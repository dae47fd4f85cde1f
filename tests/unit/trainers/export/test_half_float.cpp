#include "trainers/export/half_float.hpp"

#include <cmath>

#include "tests/harness/unit.hpp"

using namespace laird::trainers;

namespace {

double value_of(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int mantissa = half & 0x3FF;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

TEST(every_half_comes_back_as_itself_and_what_lies_between_goes_to_the_nearest_even) {
  for (std::uint32_t h = 0; h < 0x7BFF; ++h) {
    const auto here = static_cast<std::uint16_t>(h);
    const double low = value_of(here);
    const double high = value_of(static_cast<std::uint16_t>(h + 1));
    TEST_ASSERT_EQUAL_HEX16(here, to_half(static_cast<float>(low)));
    TEST_ASSERT_EQUAL_HEX16(here | 0x8000, to_half(static_cast<float>(-low)));
    const auto middle = static_cast<float>((low + high) / 2);
    TEST_ASSERT_EQUAL_HEX16(h % 2 == 0 ? h : h + 1, to_half(middle));
    TEST_ASSERT_EQUAL_HEX16(h, to_half(std::nextafter(middle, 0.0F)));
    TEST_ASSERT_EQUAL_HEX16(h + 1, to_half(std::nextafter(middle, 1e9F)));
  }
}

TEST(what_is_too_large_is_infinite) {
  TEST_ASSERT_EQUAL_HEX16(0x7BFF, to_half(kHalfMax));
  TEST_ASSERT_EQUAL_HEX16(0x7BFF, to_half(std::nextafter(65520.0F, 0.0F)));
  TEST_ASSERT_EQUAL_HEX16(0x7C00, to_half(65520.0F));
  TEST_ASSERT_EQUAL_HEX16(0xFC00, to_half(-1e30F));
}
