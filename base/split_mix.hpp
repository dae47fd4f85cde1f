// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): one word
// of state and integer arithmetic, so a seed gives the same numbers on every machine and a failing
// run is told by one number. Not for secrets.
#pragma once

#include <cstdint>

namespace laird {

// Every bit of the input reaches every bit of the output; 0 gives 0.
[[nodiscard]] constexpr std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kSplitMixStep = 0x9E3779B97F4A7C15ULL;

struct SplitMix64 {
  std::uint64_t state = 0;
  [[nodiscard]] constexpr std::uint64_t next() { return scrambled(state += kSplitMixStep); }
  // Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

}  // namespace laird
