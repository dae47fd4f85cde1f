// A fixed sequence of pseudo-random numbers (SplitMix64), the same on every machine.
#pragma once

#include <cstdint>

namespace laird::test {

struct Points {
  std::uint64_t state = 42;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // Sum of four uniforms: near enough to Gaussian, variance 1.
  double bell() { return (unit() + unit() + unit() + unit() - 2.0) * 1.7320508075688772; }
};

}  // namespace laird::test
