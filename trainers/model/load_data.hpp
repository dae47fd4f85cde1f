#pragma once

#include <optional>
#include <vector>

#include "datasets/dataset.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

// How a model sees its inputs and the numbers it predicts (datasets/dataset.hpp).
struct Scaling {
  std::vector<float> shift, scale;
  double target_mean = 0.0;
  double target_deviation = 1.0;
};

struct TaskData {
  datasets::Dataset training;
  std::optional<datasets::Dataset> held_out;  // rows the training never sees, scaled alike
};

// The data set a task asks for: read or made, cut to its classes, checked against what the kind of
// trainer needs, divided, and scaled by its training rows.
[[nodiscard]] Result<TaskData> load_task_data(const Params& params);

// All its rows, scaled as a model saw others; by themselves without one.
[[nodiscard]] Result<datasets::Dataset> load_data(const Params& params,
                                                  const Scaling* trained = nullptr);

[[nodiscard]] Scaling scaling_of(const datasets::Dataset& data);

// Whether a data file may be read: `roots` are folders with colons between, as the agent gives them
// in LAIRD_DATA_ROOTS; nullptr: any file. The task's own folder, `own`, is always one of them.
// Links are followed first.
[[nodiscard]] Status check_data_path(const std::string& path, const char* roots,
                                     const std::string& own);

// Rows around one random centre per class, or on a random line when there are no classes.
[[nodiscard]] datasets::Dataset make_synthetic(const DataParams& params);

}  // namespace laird::trainers
