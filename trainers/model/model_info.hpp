// What a checkpoint says of its model, so that the model can be used without the training's data:
// kind and layer sizes, how inputs and targets were scaled, and the params it was trained with.
//
// It stands in front of a run's state in the checkpoint, behind a mark; a checkpoint of an earlier
// release has none and begins with the state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "base/error.hpp"
#include "models/metric.hpp"
#include "trainers/model/load_data.hpp"
#include "trainers/model/network.hpp"
#include "trainers/model/params.hpp"

namespace laird::trainers {

inline constexpr std::size_t kParamsTextMax = 64 * 1024;

struct ModelInfo {
  Kind kind = Kind::kSoftmax;
  std::vector<std::uint32_t> sizes;  // inputs, hidden layers, outputs
  Scaling scaling;
  std::uint32_t classes = 0;  // 0: a number to predict
  std::string params;         // JSON, as the task gave them; empty if not known

  void archive(Archive& ar);
  [[nodiscard]] Shape shape() const;
  [[nodiscard]] models::Judge judge() const;
};

[[nodiscard]] ModelInfo info_of(const Params& params, const Shape& shape,
                                const datasets::Dataset& data);

// The payload of a checkpoint: the info. The state of the run is to be appended, and room is
// reserved for it.
[[nodiscard]] Bytes begin_payload(ModelInfo info, std::size_t state_bytes);

struct Payload {
  std::optional<ModelInfo> info;
  std::size_t state_at = 0;  // where in the payload the state begins
};
// Takes the beginning of a payload, or all of it; `kCorrupt` if the info is damaged or cut.
[[nodiscard]] Result<Payload> read_info(std::string_view payload);
// How much of a payload `read_info` may need to see.
inline constexpr std::size_t kInfoBytesMax = 8 * std::size_t{datasets::kFeaturesMax} + 128 * 1024;

}  // namespace laird::trainers
