// One model from boards whose rows differ: gradients of whole passes beside averaged local steps,
// and what a wrong board does to each. The mathematics is the real one
// (consensus/cotrain/group_model.hpp); every message arrives.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/cotrain/models.hpp"

namespace laird::lab {

enum class Poison : std::uint8_t {
  kNone,
  kLabels,  // the last board's labels are shuffled
  kScaled,  // what the last board contributes is multiplied by 100
};
inline constexpr std::string_view kPoisons[] = {"none", "labels", "scaled"};

struct SplitConfig {
  Model model = Model::kSoftmax;
  int boards = 8;
  int rounds = 100;
  int samples = 8'000;  // of all boards together
  bool sorted = true;   // by label, so that a board sees few of the classes
  int local_steps = 0;  // 0: the gradient of a whole pass
  int batch = 64;
  double rate = 0.02;     // of the local steps
  double momentum = 0.9;  // of the group's step
  double density = 0.5;
  Poison poison = Poison::kNone;
  std::uint32_t trim = 0;
  double clip = 0.0;
  std::uint64_t seed = 1;
};

struct SplitResult {
  double accuracy = 0.0;  // on the test rows, percent
  int rounds_to = -1;     // until `target`, looked at every 5 rounds
  double bytes = 0.0;     // sent by a board, one publish a round
};

[[nodiscard]] SplitResult run_split(const SplitConfig& config, const ImageSet& train,
                                    const ImageSet& test, double target);

}  // namespace laird::lab
