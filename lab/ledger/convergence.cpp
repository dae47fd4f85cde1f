#include "lab/ledger/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lab/ledger/world/checker.hpp"
#include "lab/ledger/world/optimum.hpp"

namespace laird::lab {
namespace {

using consensus::Demand;
using consensus::kWhole;

// Draws every pair with the probability that gives a mean degree of 2 ln n. A ring is added so that
// the graph is connected.
std::vector<std::pair<NodeId, NodeId>> erdos_renyi(int nodes, Random& random) {
  std::vector<std::pair<NodeId, NodeId>> pairs;
  const double p = std::min(1.0, 2.0 * std::log(nodes) / (nodes - 1));
  for (NodeId a = 0; a < static_cast<NodeId>(nodes); ++a) {
    for (NodeId b = a + 1; b < static_cast<NodeId>(nodes); ++b) {
      const bool ring = b == a + 1 || (a == 0 && b + 1 == static_cast<NodeId>(nodes));
      if (ring || random.chance(p)) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

double gap_of(const World& world, std::size_t resource, const std::vector<Demand>& demands,
              double best) {
  std::vector<double> shares(demands.size());
  for (std::size_t i = 0; i < demands.size(); ++i) {
    const Board& b = world.boards()[i];
    shares[i] = static_cast<double>(b.ledger->effective(world.local_time(b))[resource]);
  }
  return std::abs(cost_of(demands, shares) - best) / best;
}

constexpr int kTicksBetweenChanges = 120;
constexpr int kCheckedMax = 200;  // boards: checking more takes longer than simulating them

// Gives every board a new demand of each resource that is contested.
std::vector<std::vector<Demand>> change_demands(World& world, const ConvergenceConfig& config,
                                                Random& random) {
  std::vector<std::vector<Demand>> demands;
  for (int r = 0; r < config.resources; ++r) {
    demands.push_back(config.tiered ? make_tiered_demands(config.nodes, random)
                                    : make_demands(config.nodes, config.boxed, random));
    for (std::size_t i = 0; i < demands.back().size(); ++i) {
      world.boards()[i].ledger->set_demand(static_cast<std::size_t>(r), demands.back()[i]);
    }
  }
  return demands;
}

}  // namespace

std::shared_ptr<const NeighbourGraph> make_graph(Graph graph, int nodes, Random& random) {
  std::vector<NodeId> ids(static_cast<std::size_t>(nodes));
  std::iota(ids.begin(), ids.end(), NodeId{0});
  if (graph == Graph::kNeighbours) return std::make_shared<NeighbourGraph>(ids);
  std::vector<std::pair<NodeId, NodeId>> pairs;
  if (graph == Graph::kErdosRenyi) {
    pairs = erdos_renyi(nodes, random);
  } else {
    for (std::size_t i = 0; i < ids.size(); ++i)
      pairs.emplace_back(ids[i], ids[(i + 1) % ids.size()]);
  }
  return std::make_shared<NeighbourGraph>(ids, pairs);
}

std::vector<Demand> make_demands(int nodes, double boxed, Random& random) {
  const Parts fair = kWhole / nodes;
  std::vector<Demand> demands(static_cast<std::size_t>(nodes));
  for (Demand& d : demands) {
    d.demand = boxed > 0 ? fair / 1000 * random.between(800, 2400)
                         : fair / 1000 * random.between(1200, 1800);
    d.urgency = static_cast<std::uint16_t>(random.between(128, 512));
  }
  // The boxes are chosen from the optimum without boxes, so that they bind there. Half of them are
  // caps, half are floors.
  const Optimum free = optimum_of(demands, static_cast<double>(kWhole));
  for (std::size_t i = 0; i < demands.size(); ++i) {
    if (!random.chance(boxed)) continue;
    const Parts share = std::max<Parts>(static_cast<Parts>(free.shares[i]), fair / 20);
    if (random.chance(0.5)) {
      demands[i].cap = share / 1000 * random.between(500, 900);
    } else {
      demands[i].floor = std::min(fair, share / 1000 * random.between(1100, 1400));
    }
  }
  return demands;
}

std::vector<Demand> make_tiered_demands(int nodes, Random& random) {
  const Parts fair = kWhole / nodes;
  std::vector<Demand> demands;
  for (int i = 0; i < nodes; ++i) {
    const Parts size = fair / 1000 * random.between(600, 6000);
    const Parts idle = size / 1000 * random.between(0, 100);
    std::vector<consensus::TaskNeed> tasks;
    if (!random.chance(1.0 / 3.0)) {
      const DurationNs left = random.between(50, 500) * kSecond;
      tasks.push_back({0, size - idle, left / 1000 * random.between(50, 1000), left,
                       static_cast<std::uint32_t>(random.between(50'000, 1'000'000)), 1000});
    }
    demands.push_back(
        consensus::demand_from(tasks, {idle, idle, tasks.empty() ? idle : size, size}));
  }
  return demands;
}

ConvergenceResult run_convergence(const ConvergenceConfig& config, std::uint64_t seed) {
  Random random(seed ^ 0x5EED);
  const auto graph = make_graph(config.graph, config.nodes, random);
  consensus::LedgerConfig ledger;
  if (config.theta_permille != 0) ledger.theta_permille = config.theta_permille;
  World world(ledger, graph, config.network, seed);
  Checker checker;
  std::vector<std::vector<Demand>> demands;
  const double nodes = config.nodes;
  for (int change = 0; change < config.changes_before; ++change) {
    change_demands(world, config, random);
    for (int t = 0; t < kTicksBetweenChanges; ++t) {
      world.step();
      if (config.nodes <= kCheckedMax) checker.check(world);
    }
  }
  demands = change_demands(world, config, random);
  const std::uint64_t bytes_before = world.payload_bytes();
  std::vector<double> best;
  for (const auto& d : demands) best.push_back(optimum_of(d, static_cast<double>(kWhole)).cost);
  ConvergenceResult result;
  result.seed = seed;
  std::size_t edges = 0;
  for (const NodeId n : graph->members()) edges += graph->neighbours(n).size();
  result.degree = static_cast<double>(edges) / nodes;
  std::vector<double> bytes_at;
  int last_1e3 = 0;
  int last_1e6 = 0;
  for (int t = 1; t <= config.ticks_max; ++t) {
    world.step();
    if (config.nodes <= kCheckedMax) checker.check(world);
    double gap = 0;
    for (int r = 0; r < config.resources; ++r) {
      const auto at = static_cast<std::size_t>(r);
      gap = std::max(gap, gap_of(world, at, demands[at], best[at]));
    }
    bytes_at.push_back(static_cast<double>(world.payload_bytes() - bytes_before) / nodes);
    if (gap > 1e-3) last_1e3 = t;
    if (gap > 1e-6) last_1e6 = t;
    result.final_gap = gap;
    if (config.trace) {
      result.gaps.push_back(gap);
      double used = 0;
      for (const Board& b : world.boards()) {
        used += static_cast<double>(b.ledger->effective(world.local_time(b))[0]);
      }
      result.in_use.push_back(used / kWhole);
      result.bytes.push_back(bytes_at.back());
    }
    // The gap has stayed below 1e-6 for 60 ticks: the rest of the run would show the same.
    if (t > last_1e6 + 60 && !config.trace) break;
  }
  const int ran = static_cast<int>(bytes_at.size());
  if (last_1e3 < ran) result.ticks_1e3 = last_1e3 + 1;
  if (last_1e6 < ran) {
    result.ticks_1e6 = last_1e6 + 1;
    result.payload_bytes_1e6 = bytes_at[static_cast<std::size_t>(last_1e6)];
  }
  result.bytes_per_message =
      static_cast<double>(world.payload_bytes()) / static_cast<double>(world.messages());
  result.bytes_per_neighbour_tick = bytes_at.back() / ran / result.degree;
  result.excess_max = checker.result().excess_max;
  result.first_break = checker.result().first_break;
  return result;
}

}  // namespace laird::lab
