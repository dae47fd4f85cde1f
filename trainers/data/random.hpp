// The random numbers behind shuffles, first weights and synthetic data.
//
// SplitMix64: a checkpoint holds its one word of state whole. Normals by the exact log and square
// root, so that a seed gives the same numbers on every machine.
#pragma once

#include <cstdint>

#include "base/archive.hpp"
#include "base/split_mix.hpp"

namespace laird::trainers {

class Random {
 public:
  Random() = default;
  explicit Random(std::uint64_t seed) : source_{seed} {}

  [[nodiscard]] std::uint64_t next() { return source_.next(); }
  // Uniform over 0 .. n-1, without bias; n > 0.
  [[nodiscard]] std::uint32_t below(std::uint32_t n);
  // Uniform over [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform() { return source_.unit(); }
  // Mean 0, standard deviation 1 (Marsaglia's polar method, one of its two values).
  [[nodiscard]] double normal();

  void archive(Archive& ar) { ar(source_.state); }

 private:
  SplitMix64 source_;
};

}  // namespace laird::trainers
