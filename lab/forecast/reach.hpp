// How well the forecaster's probabilities of reaching a target come true on real curves.
//
// Questions: at a random point of a curve (log-uniform between 1 and 60% of its reports, four at
// least), will the loss touch a target by a deadline? The target is, with probability 0.7, the
// lowest loss seen up to a random point of 15 to 70% of the curve, else one the curve never
// reaches, 2 to 25% below its lowest; the deadline is once the end of the curve and once a random
// point before. Questions already answered (target touched) are not asked. The planned length is
// given.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/forecast/curves.hpp"

namespace laird::lab {

struct ReachScore {
  std::string deadline;  // "end" or "random"
  std::size_t questions = 0;
  double base_rate = 0.0;   // share that came true
  double brier = 0.0;       // mean (probability - outcome)^2
  double brier_base = 0.0;  // of always answering the base rate
  double auc = 0.0;         // share of (true, false) pairs in the right order
  struct Bin {
    std::size_t questions = 0;
    double probability = 0.0;  // mean answer
    double came_true = 0.0;    // share
  };
  std::array<Bin, 10> bins{};  // by tenths of the answer
};

[[nodiscard]] std::vector<ReachScore> score_reach(const std::vector<Curve>& curves,
                                                  std::uint64_t seed);

}  // namespace laird::lab
