// Tasks too large for a board as parts that fit: each part trains on its share of the data with its
// share of the memory, and the parts' models are averaged or co-trained afterwards.
//
// Assumptions: memory, time and energy are divided as the data are; the GPU share of a part is that
// of the whole. Memory is cut into whole megabytes, times are rounded up.
#pragma once

#include <vector>

#include "agent/placement/planner/instance.hpp"

namespace laird::placement {

inline constexpr std::int64_t kPartsMax = 64;  // of one task

enum class SplitRule : std::uint8_t {
  // Only what fits no board because of its memory, into the fewest equal parts.
  kFitsNone,
  // Whatever needs more than the smallest board has, cut board by board into pieces of that size
  // and
  // a rest: 7 GB on a 4 GB board is 4 + 3. The MemBatch paper's.
  kSmallestBoard,
};

struct Split {
  Instance instance;               // with parts in the place of the tasks that were split
  std::vector<std::size_t> whole;  // by task of it: the task of the original it is, or is a part of
};

// A part is called "name/1" and so on and may not be split again. Its deadline is the task's; the
// weight is divided, the first parts get the rest. Refused: a task that fits no board and is not
// splittable, or would need more than kPartsMax parts; the error says which and why.
[[nodiscard]] Result<Split> split_oversized(const Instance& instance, SplitRule rule);

}  // namespace laird::placement
