// IEEE 754 half precision from single, rounded to nearest, ties to even: by integers alone, so the
// same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace laird::trainers {

inline constexpr float kHalfMax = 65504.0F;

// What is too large becomes infinity; not for NaN.
[[nodiscard]] constexpr std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16U & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);  // 65520
  if (magnitude < 0x33000001U) return sign;  // half of the smallest one, or less
  std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
  const std::uint32_t exponent = magnitude >> 23U;  // 127 is 2^0; a half's smallest normal is 113
  const std::uint32_t drop = exponent >= 113 ? 13 : 126 - exponent;
  const std::uint32_t half_way = 1U << (drop - 1);
  const std::uint32_t rest = mantissa & ((1U << drop) - 1);
  mantissa >>= drop;
  if (rest > half_way || (rest == half_way && (mantissa & 1U) != 0)) ++mantissa;
  // The carry of a rounded-up mantissa runs into the exponent, as it should; the leading bit of a
  // normal number is counted out again.
  const std::uint32_t base = exponent >= 113 ? (exponent - 113) << 10U : 0;
  return static_cast<std::uint16_t>(sign | (base + mantissa));
}

}  // namespace laird::trainers
