// The simulator's only source of chance: one 64-bit generator per run, seeded from the command
// line, the same on every machine (splitmix64; std distributions differ between libraries).
#pragma once

#include <cstdint>

namespace laird::lab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567) {}
  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }
  // Uniform in [0, n); the bias of the multiplication is below n / 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + below(static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(double p) { return unit() < p; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace laird::lab
