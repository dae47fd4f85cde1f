// Hands a model over: NAME.onnx, NAME.fp16.onnx, NAME.rows with rows to check it by, and last
// model.json, which names the others with their hashes. Each file is there whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/model_file.hpp"
#include "trainers/export/onnx_writer.hpp"

namespace laird::trainers {

inline constexpr std::uint32_t kExportRowsDefault = 2000;
inline constexpr std::uint32_t kExportRowsMax = 100'000;
inline constexpr std::string_view kModelJson = "model.json";

struct ExportSource {
  const ModelInfo& info;
  ReadWeights read;
  std::string task;
  std::uint64_t samples = 0;
  std::optional<double> loss;
  const datasets::Dataset* rows = nullptr;  // to check the model with; none: it goes without
  std::string rows_from;                    // "held-out", "given" or "training"
};

struct ExportOptions {
  std::string path;  // of the ONNX file; the others are beside it
  bool half = true;
  std::uint32_t rows_max = kExportRowsDefault;
};

struct Exported {
  models::Model model;
  std::vector<std::string> notes;  // what was left out, and why
};

[[nodiscard]] Result<Exported> export_model(const ExportSource& source,
                                            const ExportOptions& options);

}  // namespace laird::trainers
