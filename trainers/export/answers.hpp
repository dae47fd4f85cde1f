// A model's own answers to rows, with its weights read layer by layer: a model of 200 MB is asked
// with a few MB.
#pragma once

#include <span>
#include <vector>

#include "trainers/export/onnx_writer.hpp"

namespace laird::trainers {

// `inputs` as the data has them, row after row. Numbers to predict come out in their own unit.
[[nodiscard]] Result<std::vector<float>> answers_of(const ModelInfo& info, const ReadWeights& read,
                                                    std::span<const float> inputs);

}  // namespace laird::trainers
