// What a trained model is worth on data: loss and, for classes, the part it gets right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainers/model/params.hpp"

namespace laird::trainers {

struct Evaluation {
  std::uint32_t rows = 0;
  double loss = 0.0;
  std::optional<double> accuracy;  // 0 to 1; none for numbers to predict
  // The rows entered as the training's did. A checkpoint of an earlier release does not say how.
  bool scaled_as_trained = true;
};

// `payload` is what a checkpoint holds, of a run by itself or of a co-training task; the data is
// params'.
[[nodiscard]] Result<Evaluation> evaluate(const Params& params, std::string_view payload);

// `laird-train evaluate`: reads both, prints a line. The exit code.
[[nodiscard]] int run_evaluate(Kind kind, const std::string& params_path,
                               const std::string& folder);

}  // namespace laird::trainers
