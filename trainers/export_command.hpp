// `laird-train export`: the model of a checkpoint as files for others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "trainers/export/export_model.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

struct ExportCommand {
  std::string checkpoint;  // the file, or a task's folder
  std::string out = "model.onnx";
  std::string task;         // empty: the folder's name
  std::string data_path;    // a params file whose data are the rows to check with
  std::string params_path;  // with the kind: for a checkpoint of an earlier release
  std::optional<Kind> kind;
  bool no_half = false;
  std::uint32_t rows_max = kExportRowsDefault;
};

// The exit code.
[[nodiscard]] int run_export(const ExportCommand& command);

}  // namespace laird::trainers
