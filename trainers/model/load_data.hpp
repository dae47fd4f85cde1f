#pragma once

#include "datasets/dataset.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

// The data set a task asks for: read or made, cut to its classes, standardised, and checked against
// what the kind of trainer needs.
[[nodiscard]] Result<datasets::Dataset> load_data(const Params& params);

// Whether a data file may be read: `roots` are folders with colons between, as the agent gives them
// in LAIRD_DATA_ROOTS; nullptr: any file. The task's own folder, `own`, is always one of them.
// Links are followed first.
[[nodiscard]] Status check_data_path(const std::string& path, const char* roots,
                                     const std::string& own);

// Rows around one random centre per class, or on a random line when there are no classes.
[[nodiscard]] datasets::Dataset make_synthetic(const DataParams& params);

}  // namespace laird::trainers
