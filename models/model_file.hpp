// model.json: what is known of a model that was exported, beside its ONNX files. Written by
// trainers, read by whoever promotes or runs the model; described in docs/models.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "json/value.hpp"
#include "models/metric.hpp"

namespace laird::models {

inline constexpr std::size_t kModelJsonBytesMax = std::size_t{1} << 20;
inline constexpr std::uint32_t kFormat = 1;

struct FileRef {
  std::string file;  // its name; it lies beside model.json
  std::string sha256;
  std::uint64_t bytes = 0;
};

struct HeldOut {
  FileRef file;
  std::uint32_t rows = 0;
  std::string from;  // "held-out": the training never saw them; "training": it did
  Metric metric;
};

struct Model {
  std::string kind;  // "mlp", or what another trainer calls it
  FileRef onnx;
  std::optional<FileRef> onnx_fp16;
  std::uint64_t weights = 0;
  std::string input = "input";
  std::uint32_t features = 0;
  std::string output = "logits";
  Judge judge;
  double target_mean = 0.0;
  std::vector<std::int64_t> classes;  // the data's numbers of the classes, in the outputs' order
  std::optional<HeldOut> held_out;
  std::string task;
  std::uint64_t samples = 0;
  std::optional<double> training_loss;
  json::Value params;              // of the task: the data is in it
  json::Value board;               // null until a board says
  std::optional<double> energy_j;  // spent on the training; null until a board says
};

[[nodiscard]] std::string to_text(const Model& model);
// `source` names the text in errors.
[[nodiscard]] Result<Model> parse_model(std::string_view text, std::string_view source);

// A name of a file in the same folder: no slash, no leading dot.
[[nodiscard]] bool is_file_name(std::string_view name);

}  // namespace laird::models
