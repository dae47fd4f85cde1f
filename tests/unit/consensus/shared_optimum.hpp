// A problem whose answer is known: board i's loss is |y - target_i|^2 / 2, so the best common y is
// the mean of the targets of the boards that take part.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/archive.hpp"

namespace laird::test {

inline std::string_view text(const Bytes& b) {
  return {reinterpret_cast<const char*>(b.data()), b.size()};
}

inline double target(std::size_t board, std::size_t k) {
  return std::sin(static_cast<double>(board * 7 + k));
}

// How far the worst of the boards that take part is from the answer.
template <class Board>
[[nodiscard]] double worst_error(const std::vector<Board>& boards, const std::vector<bool>& in) {
  double worst = 0;
  for (std::size_t k = 0; k < boards.front().y().size(); ++k) {
    double mean = 0;
    double count = 0;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      if (!in[i]) continue;
      mean += target(i, k);
      count += 1;
    }
    mean /= count;
    for (std::size_t i = 0; i < boards.size(); ++i) {
      if (in[i]) worst = std::max(worst, std::abs(boards[i].y()[k] - mean));
    }
  }
  return worst;
}

}  // namespace laird::test
