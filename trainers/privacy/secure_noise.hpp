// Gaussian noise that nobody can foresee, for what a board tells of its rows.
//
// Source: Box and Muller (1958), from the kernel's random bytes. Symbols: s the deviation, g the
// grid. Assumptions: the kernel's generator is sound. Deviations: values and noise are rounded to a
// grid, the largest power of two up to s / 2^20, each by itself: what is told is then a whole
// number of grid steps, and its last bits show nothing of the value, as those of a sum of doubles
// would (Mironov 2012). The rounding of the value moves it by half a step at most in each
// coordinate, which the caller counts as sensitivity.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"

namespace laird::trainers {

class SecureNoise {
 public:
  // A standard normal number.
  [[nodiscard]] Result<double> next();

 private:
  [[nodiscard]] Result<double> unit();  // (0, 1]

  std::array<std::uint64_t, 256> words_{};
  std::size_t left_ = 0;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

// The grid on which numbers with noise of that deviation are told.
[[nodiscard]] double grid_of(double deviation);

// What of `sum / rows` may be told when one row moves the sum by `sensitivity` at most, with noise
// of `times` sensitivities: overwrites `mean` with it.
[[nodiscard]] Status make_private(std::span<double> mean, double sensitivity, double times,
                                  SecureNoise& noise);

}  // namespace laird::trainers
