// Runs of co-training over a graph of boards, against exchange in float32 and central training.
#pragma once

#include <vector>

#include "lab/cotrain/gossip.hpp"
#include "lab/cotrain/models.hpp"

namespace laird::lab {

struct CotrainConfig {
  Model model = Model::kSoftmax;
  int nodes = 20;
  int rounds = 300;
  int samples = 10'000;  // of all boards together
  double alpha = 0.05;
  double rho = 0.125;
  double density = 0.2;
  double gain = 0.4;
  int leave_at = -1;  // round at which a board leaves for good
  int join_at = -1;   // round at which it comes back with nothing but a neighbour's parameters
  int evaluate_every = 5;
  std::uint64_t seed = 1;
};

struct CotrainCurve {
  std::vector<int> round;
  std::vector<double> accuracy;  // test accuracy of board 0, percent
  std::vector<double> bytes;     // per board, sent until then
  double final_worst = 0.0;      // of all boards
  double disagreement = 0.0;     // largest |y_i - mean| at the end
  bool diverged = false;
};

struct CotrainResult {
  CotrainCurve quantized;
  CotrainCurve float32;
  double central_accuracy = 0.0;
  double target_accuracy = 0.0;  // 0.5 points below central
  double lambda2 = 0.0;          // of I - W
  double smoothness = 0.0;       // L, largest Hessian eigenvalue of the pooled loss
  double alpha_bound = 0.0;      // lambda2 / (L e^(rho/2))
};

[[nodiscard]] CotrainResult run_cotrain(const CotrainConfig& config, const ImageSet& train,
                                        const ImageSet& test, bool baselines);
// First round and bytes at which a curve reaches the accuracy; -1 when it does not.
struct Reach {
  int round = -1;
  double bytes = -1;
};
[[nodiscard]] Reach reach_of(const CotrainCurve& curve, double accuracy);

}  // namespace laird::lab
