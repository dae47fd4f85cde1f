// A model as an ONNX file: opset 13, IR version 7, which TensorRT 8.0 and all later ones parse.
//
// Source: the message definitions of ONNX (onnx.proto3) and the wire format of Protocol Buffers:
// varints, and length-delimited fields in the order of their numbers. Lengths are worked out
// before, so the weights go through a small buffer and never lie in memory whole. The same model
// gives the same bytes on every machine.
//
// The graph takes inputs as the data has them and does the shift and scale itself:
//   input [batch, features] -> Sub -> Mul -> (Gemm -> Relu)* -> Gemm -> logits [batch, outputs]
// and for softmax and mlp probabilities beside logits. A number to predict comes out in its own
// unit (Mul, Add), as "value". With half precision, shift and scale stay single, as inputs of any
// size may come, and the layers between two Casts are half.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "trainers/model/model_info.hpp"

namespace laird::trainers {

enum class Precision : std::uint8_t { kSingle, kHalf };

// Fills `out` with the parameters from `first` on, in the order of Network::parameters().
using ReadWeights = std::function<Status(std::uint64_t first, std::span<float> out)>;
using WriteBytes = std::function<Status(std::string_view bytes)>;

inline constexpr std::string_view kInputName = "input";
// "logits", or "value" for a number to predict.
[[nodiscard]] std::string_view output_name(const ModelInfo& info);

// kRefused if a weight does not fit half precision, kCorrupt if one is no finite number.
[[nodiscard]] Status write_onnx(const ModelInfo& info, Precision precision, const ReadWeights& read,
                                const WriteBytes& write);

}  // namespace laird::trainers
