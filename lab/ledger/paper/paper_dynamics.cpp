#include "lab/ledger/paper/paper_dynamics.hpp"

#include <algorithm>
#include <cmath>

#include "lab/ledger/world/optimum.hpp"

namespace laird::lab {
namespace {

using consensus::Demand;
using consensus::kWhole;
using consensus::NodeId;

struct Problem {
  double fair = 1.0;
  std::vector<double> a, d, low, high;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  std::vector<double> degree;
  double best = 0.0;
};

Problem problem_of(const consensus::NeighbourGraph& graph, const std::vector<Demand>& demands) {
  Problem p;
  const std::size_t n = demands.size();
  p.fair = static_cast<double>(kWhole) / static_cast<double>(n);
  for (const Demand& d : demands) {
    p.a.push_back(static_cast<double>(d.urgency) / consensus::kUrgencyOne);
    p.d.push_back(static_cast<double>(d.demand) / p.fair);
    p.low.push_back(static_cast<double>(d.floor) / p.fair);
    p.high.push_back(static_cast<double>(d.cap) / p.fair);
  }
  for (NodeId i = 0; i < n; ++i) {
    const auto near = graph.neighbours(i);
    p.degree.push_back(static_cast<double>(near.size()));
    for (const NodeId j : near) {
      if (j > i) p.edges.emplace_back(i, j);
    }
  }
  p.best = optimum_of(demands, static_cast<double>(kWhole)).cost;
  return p;
}

double gap_of(const Problem& p, const std::vector<Demand>& demands, const std::vector<double>& x) {
  std::vector<double> shares(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    shares[i] = std::clamp(x[i], p.low[i], p.high[i]) * p.fair;
  }
  return std::abs(cost_of(demands, shares) - p.best) / p.best;
}

void finish(const Problem& p, const std::vector<double>& x, PaperResult& result) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += x[i];
    result.box_violation = std::max({result.box_violation, x[i] - p.high[i], p.low[i] - x[i]});
  }
  result.sum_error = std::abs(sum - static_cast<double>(x.size())) / static_cast<double>(x.size());
}

}  // namespace

double quantized(double value, Quantizer quantizer, double rho) {
  switch (quantizer) {
    case Quantizer::kNone: return value;
    case Quantizer::kUniform: return rho * std::round(value / rho);
    case Quantizer::kLog: break;
  }
  if (value == 0.0) return 0.0;
  const double size = std::exp(rho * std::round(std::log(std::abs(value)) / rho));
  return value < 0 ? -size : size;
}

PaperResult run_paper_dynamics(const PaperConfig& config, const consensus::NeighbourGraph& graph,
                               const std::vector<Demand>& demands, std::uint64_t seed) {
  const Problem p = problem_of(graph, demands);
  const std::size_t n = demands.size();
  Random random(seed);
  const double curvature = *std::max_element(p.a.begin(), p.a.end()) * (1 + config.penalty);
  const double widest = *std::max_element(p.degree.begin(), p.degree.end());
  const double step = config.step > 0 ? config.step : 1.0 / (2 * widest * curvature);
  std::vector<double> x(n, 1.0);
  std::vector<double> g(n);
  PaperResult result;
  for (int k = 0; k < config.iterations; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      const double over = std::max(0.0, x[i] - p.high[i]) - std::max(0.0, p.low[i] - x[i]);
      g[i] = quantized(p.a[i] * (x[i] - p.d[i]) + config.penalty * p.a[i] * over, config.quantizer,
                       config.rho);
    }
    for (const auto& [i, j] : p.edges) {
      if (config.time_varying && random.chance(0.5)) continue;
      const double flow = step * (g[i] - g[j]);
      x[i] -= flow;
      x[j] += flow;
    }
    if (k % 10 == 9) result.gaps.push_back(gap_of(p, demands, x));
  }
  result.gap = gap_of(p, demands, x);
  finish(p, x, result);
  return result;
}

PaperResult run_ratio_consensus(const consensus::NeighbourGraph& graph,
                                const std::vector<Demand>& demands, double level, double active,
                                int iterations, std::uint64_t seed) {
  const Problem p = problem_of(graph, demands);
  const std::size_t n = demands.size();
  Random random(seed);
  std::vector<double> y(n);
  std::vector<double> z(n);
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = 1.0 - p.d[i];
    z[i] = 1.0 / p.a[i];
  }
  const auto rounded = [&](double v) { return level > 0 ? level * std::floor(v / level) : v; };
  std::vector<double> x(n);
  PaperResult result;
  for (int k = 0; k < iterations; ++k) {
    const std::vector<double> y0 = y;
    const std::vector<double> z0 = z;
    for (std::size_t i = 0; i < n; ++i) {
      if (!random.chance(active)) continue;
      // The mass is split in quantized portions; the sender keeps what rounding leaves.
      const double dy = rounded(y0[i] / (1 + p.degree[i]));
      const double dz = rounded(z0[i] / (1 + p.degree[i]));
      for (const NodeId j : graph.neighbours(static_cast<NodeId>(i))) {
        y[i] -= dy;
        z[i] -= dz;
        y[j] += dy;
        z[j] += dz;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double price = z[i] != 0.0 ? y[i] / z[i] : 0.0;
      x[i] = p.d[i] + price / p.a[i];
    }
    if (k % 10 == 9) result.gaps.push_back(gap_of(p, demands, x));
  }
  result.gap = gap_of(p, demands, x);
  finish(p, x, result);
  return result;
}

}  // namespace laird::lab
