// The random numbers behind shuffles, first weights and synthetic data.
//
// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014): one word
// of state, so a checkpoint holds it whole. Integer arithmetic, and the exact log and square root
// for normals, so a seed gives the same numbers on every machine. Not for secrets.
#pragma once

#include <cstdint>

#include "base/archive.hpp"

namespace laird::trainers {

class Random {
 public:
  Random() = default;
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t next();
  // Uniform over 0 .. n-1, without bias; n > 0.
  [[nodiscard]] std::uint32_t below(std::uint32_t n);
  // Uniform over [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform();
  // Mean 0, standard deviation 1 (Marsaglia's polar method, one of its two values).
  [[nodiscard]] double normal();

  void archive(Archive& ar) { ar(state_); }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace laird::trainers
