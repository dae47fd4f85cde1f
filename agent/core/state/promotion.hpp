// From a trained task to a model that stands ready on the board: what its submitter asked for, and
// what became of it. The work is a task of its own, made by the core when the target is reached.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/core/state/limits.hpp"
#include "base/archive.hpp"
#include "base/time.hpp"

namespace laird::core {

// The trainer that promotes; every board has it, and no submission may name it.
inline constexpr std::string_view kPromoter = "laird-promote";
// The one that takes over a model which an operator pushed, so that it can be promoted.
inline constexpr std::string_view kAdopter = "laird-adopt";
// The promotion of "night" is the task "night-promote".
inline constexpr std::string_view kPromotionSuffix = "-promote";
inline constexpr std::size_t kPromotedNameBytesMax = kNameBytesMax - kPromotionSuffix.size();
// A promotion counts its work in hundredths of a second, and speaks ten times in one.
inline constexpr std::uint64_t kPromotionReportEvery = 10;
// It has no loss. What it reports is not positive, so that nobody makes a forecast of it, and never
// as low as this.
inline constexpr double kPromotionTargetLoss = -1.0;

[[nodiscard]] inline std::string promotion_name(std::string_view task) {
  return std::string(task) + std::string(kPromotionSuffix);
}

// What is to follow when a task has reached its target.
struct PromoteSpec {
  bool wanted = false;
  DurationNs deadline_after = 0;  // from the end of the training
  std::int64_t memory_bytes = 0;
  std::string limits = "{}";  // JSON text for the promoter, which the core does not read
  void archive(Archive& ar);
  // Nothing is wanted, or all of it is within its bounds.
  [[nodiscard]] bool fits_limits() const;
};

// What a promotion ended with, as the promoter measured it.
struct Promotion {
  std::string choice;           // "fp16", "fp32", "int8", or "onnx" when no engine was good enough
  double agreement = 0.0;       // part of the rows with the model's own decision; of an engine
  double latency_us_p50 = 0.0;  // at batch 1; 0: no engine was timed
  double latency_us_p95 = 0.0;
  double latency_us_p99 = 0.0;
  double rows_per_s = 0.0;  // the most at any batch
  std::uint64_t bytes = 0;  // of the engine, else of the model
  std::string note;         // why there is no engine, or what else is to be known

  [[nodiscard]] bool known() const { return !choice.empty(); }
  // Numbers that people can be shown: finite, not negative.
  [[nodiscard]] bool fits_limits() const;
  void archive(Archive& ar);
};

// "fp16, agreement 0.99950, p50 110 us, ...", for the task's reason.
[[nodiscard]] std::string describe(const Promotion& promotion);

}  // namespace laird::core
