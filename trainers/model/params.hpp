// What a task may say to a built-in trainer: one schema, checked whole, with a reference page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema.hpp"
#include "models/metric.hpp"
#include "trainers/model/fleet_params.hpp"

namespace laird::trainers {

enum class Kind : std::uint8_t { kLinear, kSvm, kSoftmax, kMlp };

inline constexpr std::string_view kKindNames[] = {"linear", "svm", "softmax", "mlp"};

[[nodiscard]] std::string_view name(Kind kind);
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name);

// What a kind is trained to make small.
[[nodiscard]] models::Loss loss_of(Kind kind);

enum class Format : std::uint8_t { kIdx, kCsv, kSynthetic };

struct DataParams {
  Format format = Format::kSynthetic;
  std::string images, labels;  // idx
  std::string path, label;     // csv
  bool header = true;
  std::uint64_t seed = 1;  // synthetic
  std::uint32_t features = 20, classes = 2, rows = 10'000;
  double noise = 1.0;
  std::uint32_t class_count = 0;  // 0: as many as the data shows
  // Inputs enter as (x - shift) * scale; none: standardised by the data itself.
  std::optional<double> shift, scale;
};

struct Params {
  Kind kind = Kind::kSoftmax;
  DataParams data;
  double learning_rate = 0.01;
  bool rate_given = true;  // false: `learning_rate` is the kind's own
  double momentum = 0.9;
  double decay = 0.0;
  double l2 = 0.0;
  std::uint32_t batch = 64;
  std::optional<std::uint32_t> epochs;  // 0 or not said: no end
  std::vector<std::uint32_t> hidden;
  std::uint32_t limit_rows = 0;  // 0: all
  std::vector<std::int64_t> classes;
  std::optional<std::uint32_t> positive_class;
  bool target_is_number = false;
  std::optional<FleetParams> fleet;
  double held_out = 0.0;  // part of the rows the training never sees
  TargetMetric target_metric = TargetMetric::kTrainingLoss;
  std::string text;  // the JSON it was read from
};

[[nodiscard]] const config::Schema& params_schema();

// Problems are appended; what is returned may be used only if there were none.
[[nodiscard]] Params read_params(Kind kind, const json::Value& value, std::string_view source,
                                 std::vector<config::Problem>& problems);

}  // namespace laird::trainers
