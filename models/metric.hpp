// What answers of a model are worth: loss against the labels, the part that is right, and how far
// two sets of answers for the same rows agree. Pure.
//
// Losses are those of trainers/model/network.hpp; symbols there. Of numbers to predict the loss is
// the mean squared error in units of the training targets' deviation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace laird::models {

enum class Loss : std::uint8_t { kSquared, kHinge, kCrossEntropy };
inline constexpr std::string_view kLossNames[] = {"squared", "hinge", "cross-entropy"};

// How an answer becomes a decision.
enum class Decision : std::uint8_t {
  kLargest,  // the class of the largest output
  kSign,     // class 1 where the only output is above 0, else class 0
  kNumber,   // the output is the number asked for
};
inline constexpr std::string_view kDecisionNames[] = {"largest", "sign", "number"};

// How answers are to be judged.
struct Judge {
  Loss loss = Loss::kCrossEntropy;
  Decision decision = Decision::kLargest;
  std::uint32_t outputs = 1;
  double target_deviation = 1.0;  // of numbers to predict
};

struct Metric {
  double loss = 0.0;
  std::optional<double> accuracy;  // 0 to 1; none for numbers
};

// `answers` holds `outputs` numbers a row, `labels` one: a class or a number.
[[nodiscard]] Metric metric_of(const Judge& judge, std::span<const float> answers,
                               std::span<const float> labels);

struct Agreement {
  double part = 0.0;     // of the rows that come to the same decision; of numbers, to the same
                         // within `kNumberTolerance` deviations
  double largest = 0.0;  // difference of two outputs
};

inline constexpr double kNumberTolerance = 1e-2;

// An answer that is no finite number agrees with nothing.
[[nodiscard]] Agreement agreement_of(const Judge& judge, std::span<const float> answers,
                                     std::span<const float> others);

}  // namespace laird::models
