// Random numbers for tests.
#pragma once

#include "base/random.hpp"

namespace laird::test {

struct Random : RandomOf<Range::kModulo> {
  explicit Random(std::uint64_t seed = 42) : RandomOf(seed) {}
  bool chance(int percent) { return below(100) < static_cast<std::uint64_t>(percent); }
  // Sum of four uniforms: near enough to Gaussian, variance 1.
  double bell() { return (unit() + unit() + unit() + unit() - 2.0) * 1.7320508075688772; }
};

}  // namespace laird::test
