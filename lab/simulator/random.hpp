// What the experiments draw from.
#pragma once

#include "base/split_mix.hpp"

namespace laird::lab {

class Random {
 public:
  explicit Random(std::uint64_t seed) : source_{seed} {}
  [[nodiscard]] std::uint64_t next() { return source_.next(); }
  // Uniform in [0, 1).
  [[nodiscard]] double unit() { return source_.unit(); }
  [[nodiscard]] double between(double low, double high) { return low + (high - low) * unit(); }
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  SplitMix64 source_;
};

}  // namespace laird::lab
