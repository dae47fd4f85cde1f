#include "lab/ledger/reclaim.hpp"

#include <algorithm>

#include "lab/ledger/convergence.hpp"
#include "lab/ledger/world/checker.hpp"

namespace laird::lab {

ReclaimResult run_reclaim(const ReclaimConfig& config, std::uint64_t seed) {
  Random random(seed ^ 0x2EC1A1);
  const auto graph = make_graph(Graph::kNeighbours, config.nodes, random);
  consensus::LedgerConfig ledger;
  ledger.lease = config.lease_ticks * ledger.tick;
  World world(ledger, graph, config.network, seed);
  for (std::size_t r = 0; r < consensus::kResources; ++r) {
    const auto demands = make_demands(config.nodes, 0.25, random);
    for (std::size_t i = 0; i < demands.size(); ++i) {
      world.boards()[i].ledger->set_demand(r, demands[i]);
    }
  }
  Checker checker;
  ReclaimResult result;
  result.seed = seed;
  const std::int64_t crash_at = random.between(20, 80);
  const NodeId victim = random.below(static_cast<std::uint32_t>(config.nodes));
  const Account account{victim, 1};
  std::int64_t end = crash_at + 10 * config.lease_ticks;
  while (world.tick() < end) {
    if (world.tick() == crash_at) world.crash(victim);
    world.step();
    checker.check(world);
    if (world.tick() > crash_at && result.ticks < 0 && !world.unsettled(account)) {
      result.ticks = world.tick() - crash_at;
      end = world.tick() + config.lease_ticks;
    }
  }
  for (std::size_t r = 0; r < consensus::kResources; ++r) {
    result.stranded = std::max(result.stranded, stranded(world, r));
  }
  result.excess_max = checker.result().excess_max;
  result.first_break = checker.result().first_break;
  return result;
}

}  // namespace laird::lab
