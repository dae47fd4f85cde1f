// SplitMix64 (Steele, Lea, Flood 2014): small, and the same numbers on every machine.
#pragma once

#include <cstdint>

namespace laird::lab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  [[nodiscard]] double between(double low, double high) { return low + (high - low) * unit(); }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

}  // namespace laird::lab
