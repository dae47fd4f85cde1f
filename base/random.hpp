// Random numbers from a seed, the same on every machine; whatever draws from chance here uses this.
//
// SplitMix64 below: one word of state, so a checkpoint holds it whole and a failing run is told by
// one number. Seeds are recorded in documents and tests, so how a number of a range is drawn, which
// differs between the users, is a parameter and never changes for one of them. Not for secrets.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/archive.hpp"
#include "base/exact_math.hpp"
#include "base/require.hpp"
#include "base/split_mix.hpp"

namespace laird {

// How a number below n is drawn.
enum class Range : std::uint8_t {
  kUnbiased,  // multiply and shift, drawing again what would favour some
  kScaled,    // multiply and shift; the bias is below n / 2^32
  kModulo,    // the remainder; n may have 64 bits, the bias is below n / 2^64
};

template <Range kRange>
class RandomOf {
 public:
  using Count = std::conditional_t<kRange == Range::kModulo, std::uint64_t, std::uint32_t>;

  RandomOf() = default;
  explicit RandomOf(std::uint64_t seed) : source_{seed} {}

  [[nodiscard]] std::uint64_t next() { return source_.next(); }
  // Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double unit() { return source_.unit(); }
  [[nodiscard]] bool chance(double p) { return unit() < p; }

  // Uniform over 0 .. n-1; n > 0.
  [[nodiscard]] Count below(Count n) {
    LAIRD_REQUIRE(n > 0, "an empty range has no random element");
    if constexpr (kRange == Range::kModulo) return next() % n;
    // Multiply and shift maps 2^32 values onto n; the first (2^32 mod n) products would favour
    // some.
    const Count favoured = kRange == Range::kUnbiased ? (Count{0} - n) % n : 0;
    for (;;) {
      const std::uint64_t product = (next() >> 32) * n;
      if (static_cast<Count>(product) >= favoured) return static_cast<Count>(product >> 32);
    }
  }

  // Uniform in [low, high).
  [[nodiscard]] double between(double low, double high) requires(kRange == Range::kModulo) {
    return low + (high - low) * unit();
  }
  // Uniform over low .. high, both included; at most 2^32 - 1 numbers.
  [[nodiscard]] std::int64_t between(std::int64_t low,
                                     std::int64_t high) requires(kRange == Range::kScaled) {
    return low + below(static_cast<Count>(high - low + 1));
  }

  // Mean 0, standard deviation 1 (Marsaglia's polar method, one of its two values), by the exact
  // log and square root.
  [[nodiscard]] double normal() {
    for (;;) {
      const double u = 2.0 * unit() - 1.0;
      const double v = 2.0 * unit() - 1.0;
      const double s = u * u + v * v;
      if (s > 0.0 && s < 1.0) return u * exact::sqrt(-2.0 * exact::log(s) / s);
    }
  }

  void archive(Archive& ar) { ar(source_.state); }

 private:
  SplitMix64 source_;
};

using Random = RandomOf<Range::kUnbiased>;

// For seeds that are counted up: neighbours start far apart.
[[nodiscard]] constexpr std::uint64_t spread_seed(std::uint64_t seed) {
  return seed * kSplitMixStep + 0x1234567;
}

}  // namespace laird
