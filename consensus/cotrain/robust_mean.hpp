// The mean of what boards contribute, where some of them may be wrong.
//
// Source: coordinate-wise trimmed mean (Yin, Chen, Ramchandran, Bartlett 2018). Symbols: n boards,
// b trimmed at either end. Assumptions: at most b boards are wrong, and the boards' rows are alike;
// b < n / 2. Deviations: a contribution may first be shortened to `clip` times the median length of
// all. Without either it is the mean by weights; with one, every board counts the same, because a
// wrong board can lie about its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace laird::consensus {

struct RobustMean {
  std::uint32_t trim = 0;
  double clip = 0.0;  // 0: as long as they are
};

[[nodiscard]] std::vector<float> mean_of(std::span<const std::vector<float>* const> vectors,
                                         std::span<const double> weights, const RobustMean& how,
                                         std::size_t dimension);
[[nodiscard]] std::vector<float> mean_of(std::span<const std::vector<float>> vectors,
                                         std::span<const double> weights, const RobustMean& how);

// The same for a part of the coordinates: `factors` is what each vector is shortened by.
[[nodiscard]] std::vector<double> factors_of(const std::vector<double>& lengths, double clip);
void mean_into(std::span<float> out, std::span<const std::vector<float>* const> vectors,
               std::span<const double> weights, const RobustMean& how,
               std::span<const double> factors);

}  // namespace laird::consensus
