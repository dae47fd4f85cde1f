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
#include <functional>
#include <string>
#include <vector>

#include "base/split_mix.hpp"
#include "estimators/model/forecaster.hpp"
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
  // The Brier score and that of the base rate by the curve's kind and by its source.
  struct Part {
    std::string name;
    std::size_t questions = 0;
    double brier = 0.0;
    double brier_base = 0.0;
  };
  std::vector<Part> kinds;
  std::vector<Part> sources;
};

[[nodiscard]] std::vector<ReachScore> score_reach(const std::vector<Curve>& curves,
                                                  std::uint64_t seed);

// One question as it is asked of a forecaster that has seen the first `used` reports.
struct ReachQuestion {
  std::size_t used = 0;
  double target = 0.0;
  double samples = 0.0;  // the deadline
  double planned = 0.0;  // 0: nobody planned a length
  double allowed = 0.0;  // where the run could be at its deadline
  bool came_true = false;
};
enum class Deadline : std::uint8_t { kEnd, kRandom, kUnplanned };
// Draws the questions about one curve and hands each to `visit`. For tuning there are more: half of
// the moments are early, log-uniform from the second report to the one that answers, as policies
// ask, and there are the questions of a task without a planned length, whose deadline may lie far
// beyond the end of its data, where the curve stays as it was.
using VisitQuestion = std::function<void(Deadline, const ReachQuestion&)>;
void draw_questions(const Curve& curve, int count, bool for_tuning, SplitMix64& random,
                    const VisitQuestion& visit);

}  // namespace laird::lab
