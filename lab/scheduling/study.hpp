// Many runs of many policies on the same bundles, in parallel, with paired statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/scheduling/paper_bundles.hpp"

namespace laird::lab {

struct PolicyScore {
  std::string name;        // as published: the default policy is "ours"
  double successes = 0.0;  // mean per run
  double standard_error = 0.0;
  double switches_per_task = 0.0;
  double of_oracle = 0.0;
  // Mean of (ours - this) over the same runs and its standard error; zero without ours.
  double behind_ours = 0.0;
  double behind_ours_error = 0.0;
  double energy_j = 0.0;  // mean per run, from the start to the end of the last task
  std::uint64_t grants = 0;
  double cpu_seconds = 0.0;
};

// What our policy is told of each task beside its forecast, to see what the forecasts cost.
enum class Told : std::uint8_t {
  kNothing,
  kReach,  // whether its target is ever reached
  kNeed,   // what it needs, if its target is reached
  kBoth,
};

struct StudyResult {
  std::size_t runs = 0;
  double oracle = 0.0;
  std::vector<PolicyScore> policies;
};

struct Study {
  std::vector<std::string> policies;  // registry names
  std::size_t runs = 0;
  std::uint64_t seed = 1;
  std::size_t jobs = 1;
  // Trainers that fit in memory at once (0: all), and what bringing one back and putting it away
  // take, in units.
  std::size_t resident_max = 0;
  double restore_units = 0.0;
  double checkpoint_units = 0.0;
  Told told = Told::kNothing;
  // What the board draws with its lane idle and in use. A unit of time is a second.
  double idle_w = 0.0;
  double busy_w = 0.0;
  // The bundle of one run; called from many threads at once.
  std::function<Bundle(std::uint64_t seed)> draw;
};

// "ours" for the registry name of our policy, any other as it is.
[[nodiscard]] std::string published_name(const std::string& policy);

// The same study gives the same numbers with any count of jobs (cpu_seconds apart).
[[nodiscard]] StudyResult run_study(const Study& study);

}  // namespace laird::lab
