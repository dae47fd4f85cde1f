// `laird-train check`: whether a task of these params could be trained here, before it is.
#pragma once

#include <cstdint>
#include <string>

#include "trainers/model/load_data.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

struct Estimate {
  std::uint32_t rows = 0;
  std::uint32_t held_out = 0;
  std::uint32_t features = 0;
  std::uint32_t classes = 0;
  double weights = 0.0;
  std::uint64_t memory_bytes = 0;  // at the highest, which is while a checkpoint is written
};

// Reads the data as the training would, so it refuses what the training would refuse.
[[nodiscard]] Result<Estimate> estimate(const Params& params);

// The exit code; every problem of the file at once. `with_data` off: the data is not opened.
[[nodiscard]] int run_check(Kind kind, const std::string& path, bool with_data);

}  // namespace laird::trainers
