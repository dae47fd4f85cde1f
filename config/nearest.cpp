#include "config/nearest.hpp"

#include <algorithm>
#include <array>

namespace laird::config {
namespace {

constexpr std::size_t kWordMax = 64;

// Optimal string alignment distance with three rolling rows; words are cut at kWordMax.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kWordMax);
  b = b.substr(0, kWordMax);
  std::array<std::array<std::size_t, kWordMax + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  std::size_t current = 0;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    const std::size_t above = current;
    const std::size_t above2 = (current + 2) % 3;
    current = (current + 1) % 3;
    rows[current][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = rows[above][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      std::size_t best = std::min({rows[above][j] + 1, rows[current][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, rows[above2][j - 2] + 1);
      }
      rows[current][j] = best;
    }
  }
  return rows[current][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace laird::config
