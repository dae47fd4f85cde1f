// The ledger simulator's only source of chance: one generator per run, seeded from the command
// line.
#pragma once

#include "base/random.hpp"

namespace laird::lab {

struct LedgerRandom : RandomOf<Range::kScaled> {
  explicit LedgerRandom(std::uint64_t seed) : RandomOf(spread_seed(seed)) {}
};
using Random = LedgerRandom;

}  // namespace laird::lab
