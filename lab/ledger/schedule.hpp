// Random fault schedules: crashes of random, adjacent and first-heir boards, restarts with and
// without journal, cut links, partitions, drifting clocks, a bad network, packets kept back for
// much later, boards that join. One seed is one schedule, and replays alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/ledger/world/checker.hpp"
#include "lab/ledger/world/world.hpp"

namespace laird::lab {

struct ScheduleLimits {
  int nodes_min = 3;
  int nodes_max = 100;
  int crashes_max = 3;
  int partitions_max = 2;
  int cuts_max = 4;
  int joins_max = 1;
  int lease_ticks = 30;
  std::uint32_t drift_ppm = 10'000;
  consensus::LedgerFaults faults;
  std::optional<NetworkConfig> network;  // nothing: drawn
  bool tell = false;                     // print the schedule as it runs
};

struct ScheduleResult {
  std::uint64_t seed = 0;
  int nodes = 0;
  int crashes = 0;
  Parts excess_max = 0;
  double stranded = 0.0;  // worst resource, as a part of the whole, at the end
  std::int64_t ticks = 0;
  std::int64_t versions = 0;   // of the register
  std::string needs_operator;  // empty: everything must be recovered
  // Ticks to the settlement of the account of a board that stays down, from its crash or the last
  // fault after it, whichever is later; the longest of the run. -1: none.
  std::int64_t reclaim_ticks = -1;
  std::string first_break;
};

[[nodiscard]] ScheduleResult run_schedule(const ScheduleLimits& limits, std::uint64_t seed);

}  // namespace laird::lab
