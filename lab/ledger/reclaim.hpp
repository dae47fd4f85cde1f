// Measures how long a dead board's share is out of use: from the crash to its settlement.
#pragma once

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

struct ReclaimConfig {
  int nodes = 20;
  int lease_ticks = 60;
  NetworkConfig network;
};

struct ReclaimResult {
  std::uint64_t seed = 0;
  std::int64_t ticks = -1;  // -1: not settled within ten leases
  Parts stranded = 0;       // at the end, of the worst resource
  Parts excess_max = 0;
  std::string first_break;
};

// One board, drawn by the seed, crashes for good under load; nothing else goes wrong.
[[nodiscard]] ReclaimResult run_reclaim(const ReclaimConfig& config, std::uint64_t seed);

}  // namespace laird::lab
