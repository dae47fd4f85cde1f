// The robustness study: every strategy on the same workloads, with Table 1's columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laird::lab {

struct Measured {
  double mean = 0.0;
  double standard_error = 0.0;
};

struct StrategyScore {
  std::string name;  // as published: the default policy is "ours"
  Measured success_pct;
  Measured latency;  // steps from arrival to success, of those that succeed
  Measured energy;
  Measured efficiency;  // percent of success per energy
  Measured link_use;    // part of the time the network is in use
  Measured lane_use;    // part of the nodes' time in use
};

struct RobustnessSetting {
  std::size_t tasks = 60;
  std::size_t runs = 100;
  std::uint64_t seed = 1;
  std::size_t jobs = 1;
  std::vector<std::string> strategies;  // registry names
};

// The strategies of the paper's Table 1, then the corrected ones and ours.
[[nodiscard]] std::vector<std::string> study_strategies();

// The same setting gives the same numbers with any count of jobs.
[[nodiscard]] std::vector<StrategyScore> run_robustness(const RobustnessSetting& setting);

}  // namespace laird::lab
