#include "models/metric.hpp"

#include <algorithm>
#include <cmath>

#include "base/require.hpp"

namespace laird::models {
namespace {

double row_loss(const Judge& judge, std::span<const float> z, float label) {
  const auto wide = [&](std::size_t k) { return static_cast<double>(z[k]); };
  const auto y = static_cast<std::size_t>(std::max(label, 0.0F));
  if (judge.decision == Decision::kNumber) {
    const double error = (wide(0) - static_cast<double>(label)) / judge.target_deviation;
    return error * error;
  }
  if (judge.decision == Decision::kSign && judge.loss == Loss::kHinge) {
    return std::max(0.0, 1.0 - (label > 0.5F ? 1.0 : -1.0) * wide(0));
  }
  if (y >= z.size()) return 0.0;
  double sum = 0.0;
  switch (judge.loss) {
    case Loss::kSquared:
      for (std::size_t k = 0; k < z.size(); ++k) {
        const double error = wide(k) - (k == y ? 1.0 : 0.0);
        sum += error * error;
      }
      return sum / static_cast<double>(z.size());
    case Loss::kHinge: {
      double rival = -HUGE_VAL;
      for (std::size_t k = 0; k < z.size(); ++k) {
        if (k != y) rival = std::max(rival, wide(k));
      }
      return std::max(0.0, 1.0 + rival - wide(y));
    }
    case Loss::kCrossEntropy: {
      const auto top = static_cast<double>(*std::max_element(z.begin(), z.end()));
      for (std::size_t k = 0; k < z.size(); ++k) sum += std::exp(wide(k) - top);
      return std::log(sum) - (wide(y) - top);
    }
  }
  return 0.0;
}

std::size_t decided(const Judge& judge, std::span<const float> z) {
  if (judge.decision == Decision::kSign) return z[0] > 0.0F ? 1 : 0;
  return static_cast<std::size_t>(std::max_element(z.begin(), z.end()) - z.begin());
}

bool same(const Judge& judge, std::span<const float> a, std::span<const float> b) {
  const auto finite = [](float v) { return std::isfinite(v); };
  if (!std::all_of(a.begin(), a.end(), finite) || !std::all_of(b.begin(), b.end(), finite)) {
    return false;
  }
  if (judge.decision != Decision::kNumber) return decided(judge, a) == decided(judge, b);
  const double difference = static_cast<double>(a[0]) - static_cast<double>(b[0]);
  return std::abs(difference) <= kNumberTolerance * judge.target_deviation;
}

}  // namespace

Metric metric_of(const Judge& judge, std::span<const float> answers,
                 std::span<const float> labels) {
  LAIRD_REQUIRE(!labels.empty() && answers.size() == labels.size() * judge.outputs,
                "an answer a label");
  Metric out;
  std::size_t right = 0;
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const std::span<const float> z = answers.subspan(r * judge.outputs, judge.outputs);
    out.loss += row_loss(judge, z, labels[r]);
    right += static_cast<float>(decided(judge, z)) == labels[r] ? 1 : 0;
  }
  out.loss /= static_cast<double>(labels.size());
  if (judge.decision != Decision::kNumber) {
    out.accuracy = static_cast<double>(right) / static_cast<double>(labels.size());
  }
  return out;
}

Agreement agreement_of(const Judge& judge, std::span<const float> answers,
                       std::span<const float> others) {
  LAIRD_REQUIRE(
      !answers.empty() && answers.size() == others.size() && answers.size() % judge.outputs == 0,
      "answers to the same rows");
  Agreement out;
  const std::size_t rows = answers.size() / judge.outputs;
  std::size_t agreed = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::span<const float> a = answers.subspan(r * judge.outputs, judge.outputs);
    const std::span<const float> b = others.subspan(r * judge.outputs, judge.outputs);
    agreed += same(judge, a, b) ? 1 : 0;
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double difference = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
      // What is no number is the largest difference there is.
      out.largest = std::max(out.largest, std::isfinite(difference) ? difference : HUGE_VAL);
    }
  }
  out.part = static_cast<double>(agreed) / static_cast<double>(rows);
  return out;
}

}  // namespace laird::models
