// The paper's own resource dynamics and the schemes that it compares with, computed in doubles, as
// references for the ledger.
//
// Source: Doostmohammadian, Gabidullina, Rabiee, "Machine Learning and CPU Scheduling
// Co-Optimization over a Network of Computing Centers" (2025), equation (30) with the box penalty
// f^Xi and the quantizers of (33)-(34); synchronous, forward Euler (the paper only gives the ODE).
//   x_i+ = x_i - eta sum_j w_ij ( q(g_i) - q(g_j) ),  g_i = f_i'(x_i) + xi'(x_i)
//   xi(x) = c/2 ([x - cap]+^2 + [floor - x]+^2)
// Symbols: x in units of the fair share, gradients in urgency times fair shares, eta the step.
// The ratio-consensus schemes are our implementations, from public descriptions, of what the paper
// cites: quantized and asynchronous average consensus on the numerator and the denominator of the
// optimal price. These schemes know no boxes, so the shares are clipped at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "consensus/ledger/demand.hpp"
#include "consensus/neighbour_graph.hpp"
#include "lab/ledger/world/random.hpp"

namespace laird::lab {

enum class Quantizer : std::uint8_t { kNone, kLog, kUniform };

struct PaperConfig {
  Quantizer quantizer = Quantizer::kLog;
  double rho = 0.125;
  double step = 0.0;     // 0: 1 / (2 max degree * max curvature)
  double penalty = 4.0;  // c, in units of the urgency
  int iterations = 2000;
  bool time_varying = false;  // a random half of the edges is up in each iteration
};

struct PaperResult {
  double gap = 0.0;            // relative cost at the end, shares clipped to their boxes
  double sum_error = 0.0;      // |sum x - whole| / whole: the all-time feasibility
  double box_violation = 0.0;  // largest excursion out of a box, in fair shares
  std::vector<double> gaps;    // every 10 iterations
};

[[nodiscard]] double quantized(double value, Quantizer quantizer, double rho);
[[nodiscard]] PaperResult run_paper_dynamics(const PaperConfig& config,
                                             const consensus::NeighbourGraph& graph,
                                             const std::vector<consensus::Demand>& demands,
                                             std::uint64_t seed);
// Push-sum on (b/n - d_i, 1/a_i) with messages rounded to multiples of `level` (0: exact); each
// node wakes with probability `active`.
[[nodiscard]] PaperResult run_ratio_consensus(const consensus::NeighbourGraph& graph,
                                              const std::vector<consensus::Demand>& demands,
                                              double level, double active, int iterations,
                                              std::uint64_t seed);

}  // namespace laird::lab
