// Random fault schedules: boards crash (random ones, neighbours of the last, its first heir) and
// restart with or without their journals, links are cut, the fleet is partitioned, clocks drift,
// the network loses messages and delivers some much later, boards join and leave. A seed determines
// one schedule, which can be replayed alone. docs/ledger.md, "Measured".
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
  int liars = 0;             // members that lie
  bool broker_lies = false;  // the broker does
  bool near_limits = false;  // real incarnations, and counters that begin near 2^31 or their end
  consensus::LedgerFaults faults;
  std::optional<NetworkConfig> network;  // absent: drawn from the seed
  bool tell = false;                     // print the schedule as it runs
};

struct ScheduleResult {
  std::uint64_t seed = 0;
  int nodes = 0;
  int crashes = 0;
  Parts excess_max = 0;
  Parts overstated_max = 0;       // what honest boards used above the whole on a liar's word
  Parts owed_max = 0;             // what honest boards owed at most because of the liar
  Parts bound = 0;                // the liar's allowance
  bool guarded = true;            // there were four keepers or more all the time
  std::string business;           // what is not in order at the end; empty: everything is
  std::int64_t fenced_ticks = 0;  // from the end of faults and lies until everything was in order
  double stranded = 0.0;          // at the end, fraction of the whole, of the worst resource
  std::int64_t ticks = 0;
  std::int64_t versions = 0;   // of the register
  std::string needs_operator;  // why; empty: the fleet must recover everything itself
  // The longest time in which a board that stays down was settled, in ticks, counted from its crash
  // or from the last fault after the crash. -1: no board was settled.
  std::int64_t reclaim_ticks = -1;
  std::string first_break;

  // Whether something was not recovered that could have been.
  [[nodiscard]] bool stuck() const {
    return needs_operator.empty() && (stranded > 1e-6 || !business.empty());
  }
};

[[nodiscard]] ScheduleResult run_schedule(const ScheduleLimits& limits, std::uint64_t seed);

}  // namespace laird::lab
