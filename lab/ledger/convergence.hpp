// Measures how fast, and with how many bytes, a fleet of ledgers reaches the centralized optimum.
// docs/ledger.md, "Measured".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/ledger/world/world.hpp"

namespace laird::lab {

enum class Graph : std::uint8_t { kNeighbours, kErdosRenyi, kRing };

struct ConvergenceConfig {
  int nodes = 100;
  Graph graph = Graph::kNeighbours;
  NetworkConfig network;
  int ticks_max = 400;
  int resources = 1;                 // how many of the three resources are contested
  double boxed = 0.25;               // fraction of the nodes whose floor or cap binds
  std::uint32_t theta_permille = 0;  // 0: the ledger's default
  bool tiered = false;  // costs with a kink, as boards have them; otherwise plain quadratic ones
  bool trace = false;
  // So many times the demands change before those that are measured: the fleet then begins far from
  // equal shares, with edges that have been used.
  int changes_before = 0;
};

struct ConvergenceResult {
  std::uint64_t seed = 0;
  double degree = 0.0;
  int ticks_1e3 = -1;  // first tick from which the gap stays below 1e-3; -1: never
  int ticks_1e6 = -1;
  double payload_bytes_1e6 = 0.0;  // per node, sent until that tick
  double bytes_per_message = 0.0;
  double bytes_per_neighbour_tick = 0.0;
  double final_gap = 0.0;
  Parts excess_max = 0;
  std::string first_break;
  std::vector<double> gaps;    // per tick, with trace
  std::vector<double> in_use;  // fraction of the budget, per tick, with trace
  std::vector<double> bytes;   // per node, cumulative, with trace
};

[[nodiscard]] std::shared_ptr<const NeighbourGraph> make_graph(Graph graph, int nodes,
                                                               Random& random);
// Draws demands that together exceed the whole, urgencies that differ by up to a factor of four,
// and boxes that bind.
[[nodiscard]] std::vector<consensus::Demand> make_demands(int nodes, double boxed, Random& random);
// Draws demands as boards make them of their tasks: large and small boards, a third of them idle,
// on the others deadlines of different prices; together they want more than the whole.
[[nodiscard]] std::vector<consensus::Demand> make_tiered_demands(int nodes, Random& random);
[[nodiscard]] ConvergenceResult run_convergence(const ConvergenceConfig& config,
                                                std::uint64_t seed);

}  // namespace laird::lab
