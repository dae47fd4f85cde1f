#include "trainers/data/random.hpp"

#include "base/exact_math.hpp"
#include "base/require.hpp"

namespace laird::trainers {

std::uint32_t Random::below(std::uint32_t n) {
  LAIRD_REQUIRE(n > 0, "an empty range has no random element");
  // Multiply and shift maps 2^32 values onto n; the first (2^32 mod n) products would favour some.
  const std::uint32_t favoured = (0U - n) % n;
  for (;;) {
    const std::uint64_t product = (next() >> 32) * n;
    if (static_cast<std::uint32_t>(product) >= favoured) {
      return static_cast<std::uint32_t>(product >> 32);
    }
  }
}

double Random::normal() {
  for (;;) {
    const double u = 2.0 * uniform() - 1.0;
    const double v = 2.0 * uniform() - 1.0;
    const double s = u * u + v * v;
    if (s > 0.0 && s < 1.0) return u * exact::sqrt(-2.0 * exact::log(s) / s);
  }
}

}  // namespace laird::trainers
