#include "base/exact_math.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace laird::exact {
namespace {

// ln 2 split so that k * kLn2Hi is exact for |k| < 2^20 (the low 21 bits of kLn2Hi are zero).
constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
constexpr double kInvLn2 = 0x1.71547652b82fep+0;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// 2^k for k in [-1022, 1023].
double power_of_two(int k) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// e^r - 1 for |r| <= 0.35: Taylor to r^14 in Horner form; the remainder is below 2^-60.
double expm1_small(double r) {
  double p = 1.0 / 87178291200.0;
  p = p * r + 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  return r + r * r * p;
}

}  // namespace

double exp(double x) {
  if (x != x) return x;
  if (x > 709.782712893384) return kInf;
  if (x < -745.2) return 0.0;
  // x = k ln 2 + r with |r| <= ln 2 / 2; r is kept as hi - lo so that its rounding error stays
  // below the result's.
  const double scaled = x * kInvLn2;
  const int k = static_cast<int>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
  const double hi = x - static_cast<double>(k) * kLn2Hi;
  const double lo = static_cast<double>(k) * kLn2Lo;
  const double r = hi - lo;
  const double correction = (hi - r) - lo;
  const double y = 1.0 + (expm1_small(r) + correction);
  if (k >= -1021 && k <= 1022) return y * power_of_two(k);
  const int half = k / 2;
  return y * power_of_two(half) * power_of_two(k - half);
}

double log(double x) {
  if (x != x) return x;
  if (x < 0.0) return kNan;
  if (x == 0.0) return -kInf;
  if (x == kInf) return kInf;
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    k = -54;
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1022;
  // m in [0.5, 1), then moved to [sqrt(1/2), sqrt(2)).
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FE0000000000000ULL);
  if (m < kSqrtHalf) {
    m *= 2.0;
    k -= 1;
  }
  // ln m = 2 atanh(s), s = f / (2 + f), f = m - 1. With z = s^2:
  // ln m = f - (f^2/2 - s (f^2/2 + R)), R = 2 (z/3 + z^2/5 + ...): the form that keeps f exact.
  const double f = m - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 1.0 / 23.0;
  p = p * z + 1.0 / 21.0;
  p = p * z + 1.0 / 19.0;
  p = p * z + 1.0 / 17.0;
  p = p * z + 1.0 / 15.0;
  p = p * z + 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  const double rest = 2.0 * z * p;
  const double half_square = 0.5 * f * f;
  const double dk = static_cast<double>(k);
  return dk * kLn2Hi - ((half_square - (s * (half_square + rest) + dk * kLn2Lo)) - f);
}

double pow(double x, double y) { return exp(y * log(x)); }

double sqrt(double x) { return std::sqrt(x); }

}  // namespace laird::exact
