// The section `fleet` of a task's params: how one model is trained with the other boards.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "config/schema.hpp"
#include "consensus/cotrain/group_rounds.hpp"

namespace laird::trainers {

// How little of any one row may be learnt from what a board tells
// (consensus/cotrain/privacy_budget.hpp).
struct PrivacyParams {
  double noise = 0.0;     // deviation, in what one row can change
  double row_clip = 0.0;  // the longest gradient of a row
  double delta = 1e-5;
};

// Of a task that trains one model with the other boards of the fleet.
struct FleetParams {
  std::uint32_t rounds = 200;  // 0: no end
  std::optional<std::uint32_t> quorum;
  std::optional<DurationNs> wait;
  std::optional<double> density;  // by the size of the model
  double rho = 0.25;
  std::uint32_t trim = 0;
  double clip = 0.0;
  std::optional<PrivacyParams> privacy;
};

// What is reported as the loss, and so what a task's target is about.
enum class TargetMetric : std::uint8_t {
  kTrainingLoss,
  kHeldOutLoss,
  kHeldOutError,  // 1 - accuracy
};
inline constexpr std::string_view kTargetMetrics[] = {"loss", "held-out-loss", "held-out-error"};

// Of the built-in trainers.
extern const config::Schema kFleetSchema;
// `fleet` was read by that schema.
[[nodiscard]] FleetParams read_fleet(const json::Value& fleet);
// What of its privacy cannot be kept as it stands; `held_out`: rows are held out of the training.
void check_privacy(const json::Value& fleet, bool held_out, std::string_view source,
                   std::vector<config::Problem>& problems);

// Of a trainer that makes local steps by itself and has the results averaged.
struct AverageParams {
  FleetParams fleet;
  double momentum = 0.9;  // over the averaged steps
  double rate = 1.0;      // what part of an averaged step is taken
  TargetMetric target_metric = TargetMetric::kTrainingLoss;
};
[[nodiscard]] const config::Schema& average_schema();
// Looks at `fleet` and `target_metric` alone: the rest of the params is the trainer's own. Problems
// are appended; what is returned may be used only if there were none.
[[nodiscard]] AverageParams read_average(const json::Value& params, std::string_view source,
                                         std::vector<config::Problem>& problems);

// Weights up to which a message carries half of the changes if the task says nothing, else a
// quarter.
inline constexpr std::size_t kSmallModel = 16'384;
[[nodiscard]] consensus::DeltaCoding coding_of(const FleetParams& fleet, std::size_t dimension);
[[nodiscard]] consensus::RoundsConfig rounds_of(const FleetParams& fleet,
                                                const consensus::GroupConfig& model);

}  // namespace laird::trainers
