#pragma once

#include "datasets/dataset.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

// The data set a task asks for: read or made, cut to its classes, standardised, and checked against
// what the kind of trainer needs.
[[nodiscard]] Result<datasets::Dataset> load_data(const Params& params);

// Rows around one random centre per class, or on a random line when there are no classes.
[[nodiscard]] datasets::Dataset make_synthetic(const DataParams& params);

}  // namespace laird::trainers
