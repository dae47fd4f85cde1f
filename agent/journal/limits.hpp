// How much of a board's disk the journal may take.
#pragma once

#include <cstdint>

#include "base/time.hpp"

namespace laird::journal {

struct Limits {
  std::int64_t file_bytes_max = 64 * 1000 * 1000;
  std::int64_t total_bytes_max = 512 * 1000 * 1000;
  DurationNs age_max = 14 * kDay;
  std::uint64_t events_per_snapshot = 4096;
};

}  // namespace laird::journal
