// What the scheduling experiments draw from.
#pragma once

#include "base/random.hpp"

namespace laird::lab {

using Random = RandomOf<Range::kModulo>;

}  // namespace laird::lab
