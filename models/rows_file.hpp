// The rows that travel with a model: inputs as they come from the data, what they should come to,
// and the model's own answers. Whoever runs the model elsewhere checks itself against them.
//
// Bytes (docs/models.md), all little-endian: "LAIRDROW", version 1, rows, features, outputs, each
// in 32 bits; then 32-bit floats: rows x features inputs, rows labels, rows x outputs answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace laird::models {

inline constexpr std::uint64_t kRowsBytesMax = std::uint64_t{1} << 28;

struct Rows {
  std::uint32_t rows = 0;
  std::uint32_t features = 0;
  std::uint32_t outputs = 0;
  std::vector<float> inputs;
  std::vector<float> labels;  // a class, or a number
  std::vector<float> answers;
};

[[nodiscard]] std::string pack_rows(const Rows& rows);
[[nodiscard]] Result<Rows> unpack_rows(std::string_view bytes);

}  // namespace laird::models
