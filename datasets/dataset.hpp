// A data set in memory, as small as its source allows: bytes stay bytes until a batch needs floats.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::datasets {

// What a data set may ask of the board at most; a header that claims more is refused.
inline constexpr std::uint64_t kDataBytesMax = std::uint64_t{2} << 30;
inline constexpr std::uint32_t kRowsMax = 20'000'000;
inline constexpr std::uint32_t kFeaturesMax = 1'000'000;
inline constexpr std::uint32_t kClassesMax = 1'000;

struct Dataset {
  std::uint32_t rows = 0;
  std::uint32_t features = 0;
  std::uint32_t classes = 0;  // 0 when the labels are plain numbers (targets)

  // Row after row; one of the two is filled.
  std::vector<std::uint8_t> bytes;
  std::vector<float> values;

  std::vector<std::uint16_t> labels;  // class of each row, below `classes`
  std::vector<float> targets;         // number to predict for each row, when classes == 0

  // A feature x enters a model as (x - shift) * scale; one pair for all features or one each.
  std::vector<float> shift;
  std::vector<float> scale;

  // A number y to predict is held in `targets` as (y - target_mean) / target_deviation.
  double target_mean = 0.0;
  double target_deviation = 1.0;

  // Puts the features of one row into `out` (features long): scaled, or as the source has them.
  void row(std::uint32_t index, float* out) const;
  void raw_row(std::uint32_t index, float* out) const;

  // Sets shift and scale so that inputs have mean 0 and variance 1: over all features together for
  // bytes (pixels share one unit), each feature by itself for values.
  void standardise();
  // The same shift and scale for every feature.
  void rescale(double shift_by, double scale_by);

  // Another data set's, so that a model sees these rows as it saw those: one pair, or one each.
  [[nodiscard]] Status scale_as(std::span<const float> other_shift,
                                std::span<const float> other_scale);

  // Moves `part` of the rows (above 0, below 1) into a data set of their own; at least one row
  // stays and one goes. Which ones depends on their number alone.
  [[nodiscard]] Dataset take_part(double part);

  // Keeps the rows whose class is listed, renumbered in the order of the list.
  [[nodiscard]] Status keep_classes(std::span<const std::int64_t> kept);
};

}  // namespace laird::datasets
