#include "lab/ledger/paper/paper_command.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "json/value.hpp"
#include "lab/ledger/convergence.hpp"
#include "lab/ledger/paper/paper_dynamics.hpp"
#include "lab/ledger/world/optimum.hpp"

namespace laird::lab {
namespace {

constexpr int kNodes = 20;
constexpr int kIterations = 2000;

double ledger_gap(const std::shared_ptr<const NeighbourGraph>& graph,
                  const std::vector<consensus::Demand>& demands, const NetworkConfig& network,
                  std::uint64_t seed) {
  World world(consensus::LedgerConfig{}, graph, network, seed);
  for (std::size_t i = 0; i < demands.size(); ++i) {
    world.boards()[i].ledger->set_demand(0, demands[i]);
  }
  for (int t = 0; t < kIterations; ++t) world.step();
  std::vector<double> shares;
  for (const Board& b : world.boards()) {
    shares.push_back(static_cast<double>(b.ledger->effective(world.local_time(b))[0]));
  }
  const double best = optimum_of(demands, static_cast<double>(consensus::kWhole)).cost;
  const double gap = (cost_of(demands, shares) - best) / best;
  return gap < 0 ? -gap : gap;
}

struct Scheme {
  std::string name;
  std::function<PaperResult(const std::shared_ptr<const NeighbourGraph>&,
                            const std::vector<consensus::Demand>&, std::uint64_t)>
      run;
};

Scheme paper(std::string name, Quantizer quantizer, bool time_varying) {
  return {std::move(name), [=](const auto& graph, const auto& demands, std::uint64_t seed) {
            PaperConfig config;
            config.quantizer = quantizer;
            config.time_varying = time_varying;
            config.iterations = kIterations;
            return run_paper_dynamics(config, *graph, demands, seed);
          }};
}

Scheme ratio(std::string name, double level, double active) {
  return {std::move(name), [=](const auto& graph, const auto& demands, std::uint64_t seed) {
            return run_ratio_consensus(*graph, demands, level, active, kIterations, seed);
          }};
}

Scheme ledger(std::string name, const NetworkConfig& network) {
  return {std::move(name), [=](const auto& graph, const auto& demands, std::uint64_t seed) {
            PaperResult r;
            r.gap = ledger_gap(graph, demands, network, seed);
            return r;
          }};
}

std::vector<Scheme> schemes() {
  NetworkConfig bad;
  bad.loss = 0.3;
  bad.duplicate = 0.15;
  bad.delay_max = 3;
  return {
      ledger("share ledger, no loss", {}),
      ledger("share ledger, loss 30%, dup 15%, delay 1-3", bad),
      paper("paper (30), log-quantized gradients, as printed", Quantizer::kLog, false),
      paper("paper (30), float", Quantizer::kNone, false),
      paper("paper (30), uniform quantization, same step", Quantizer::kUniform, false),
      paper("paper (30), log-quantized, time-varying network", Quantizer::kLog, true),
      ratio("ratio consensus, asynchronous (our implementation)", 0.0, 0.5),
      ratio("ratio consensus, uniform-quantized (our implementation)", 0.125, 1.0),
      ratio("ratio consensus, asynchronous and quantized (our implementation)", 0.125, 0.5),
  };
}

}  // namespace

int run_paper_comparison(std::uint64_t seeds, std::uint64_t first_seed, bool json) {
  json::Value all = json::Value::array();
  for (const double boxed : {0.0, 0.25}) {
    for (const Scheme& scheme : schemes()) {
      std::vector<double> gaps;
      double violation = 0;
      double sum_error = 0;
      for (std::uint64_t s = 0; s < seeds; ++s) {
        Random random((first_seed + s) ^ 0xABCD);
        const auto graph = make_graph(Graph::kErdosRenyi, kNodes, random);
        const auto demands = make_demands(kNodes, boxed, random);
        const PaperResult r = scheme.run(graph, demands, first_seed + s);
        gaps.push_back(r.gap);
        violation = std::max(violation, r.box_violation);
        sum_error = std::max(sum_error, r.sum_error);
      }
      std::sort(gaps.begin(), gaps.end());
      json::Value v = json::Value::object();
      v.set("scheme", scheme.name);
      v.set("boxed", boxed);
      v.set("gap_median", gaps[gaps.size() / 2]);
      v.set("gap_max", gaps.back());
      v.set("box_violation_max", violation);
      v.set("sum_error_max", sum_error);
      if (!json) {
        std::printf("boxes on %2.0f%%  %-66s gap median %.2e  worst %.2e  out of box %.2g\n",
                    boxed * 100, scheme.name.c_str(), gaps[gaps.size() / 2], gaps.back(),
                    violation);
      }
      all.add(std::move(v));
    }
  }
  if (json) std::printf("%s\n", json::to_text(all).c_str());
  return 0;
}

}  // namespace laird::lab
