// Many workloads under every strategy, with means and standard errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/watts/fleet.hpp"

namespace laird::lab {

struct WattsScore {
  Strategy strategy = Strategy::kOurs;
  double successes = 0.0;  // mean for a run, by weight
  double standard_error = 0.0;
  double joules_per_success = 0.0;  // of all runs together
  double waste = 0.0;
  double over = 0.0;  // the most of all runs
  double cpu_seconds = 0.0;
};

struct WattsTable {
  std::size_t boards = 0;
  double budget = 0.0;  // of what all boards could draw
  std::size_t runs = 0;
  double tasks = 0.0;  // mean weight of what came in a run
  std::vector<WattsScore> scores;
};

struct WattsStudy {
  std::vector<power::Board> modules;
  const std::vector<Curve>* curves = nullptr;
  std::size_t boards = 8;
  double budget = 0.6;
  std::size_t runs = 100;
  std::uint64_t first_seed = 1;
  std::size_t jobs = 1;
  std::vector<Strategy> strategies;
};

// The same study gives the same numbers with any count of jobs (cpu_seconds apart). Progress goes
// to stderr.
[[nodiscard]] WattsTable run_watts_study(const WattsStudy& study);

}  // namespace laird::lab
