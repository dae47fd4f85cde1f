// The ledger simulator's only source of chance: one generator per run, seeded from the command
// line.
#pragma once

#include "base/split_mix.hpp"

namespace laird::lab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : source_{seed * kSplitMixStep + 0x1234567} {}
  std::uint64_t next() { return source_.next(); }
  // Uniform in [0, n); the bias of the multiplication is below n / 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((next() >> 32) * n) >> 32);
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + below(static_cast<std::uint32_t>(high - low + 1));
  }
  bool chance(double p) { return unit() < p; }
  double unit() { return source_.unit(); }

 private:
  SplitMix64 source_;
};

}  // namespace laird::lab
