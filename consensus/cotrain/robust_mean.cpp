#include "consensus/cotrain/robust_mean.hpp"

#include <algorithm>
#include <cmath>

namespace laird::consensus {
namespace {

double length_of(const std::vector<float>& v) {
  double sum = 0.0;
  for (const float x : v) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

// What each vector is shortened by.
std::vector<double> shortened(std::span<const std::vector<float>* const> vectors, double clip) {
  std::vector<double> lengths;
  for (const auto* v : vectors) lengths.push_back(length_of(*v));
  std::vector<double> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  // The lower of the two middle ones: with half of the boards wrong there is no right answer.
  const double limit = sorted.empty() ? 0.0 : clip * sorted[(sorted.size() - 1) / 2];
  for (double& length : lengths) length = length > limit && length > 0.0 ? limit / length : 1.0;
  return lengths;
}

}  // namespace

std::vector<float> mean_of(std::span<const std::vector<float>* const> vectors,
                           std::span<const double> weights, const RobustMean& how,
                           std::size_t dimension) {
  std::vector<float> out(dimension, 0.0F);
  const std::size_t n = vectors.size();
  if (n == 0) return out;
  const bool robust = how.trim > 0 || how.clip > 0.0;
  const std::size_t trim = std::min<std::size_t>(how.trim, (n - 1) / 2);
  std::vector<double> factor(n, 1.0);
  if (how.clip > 0.0) factor = shortened(vectors, how.clip);
  double total = 0.0;
  for (std::size_t k = 0; k < n; ++k) total += weights[k];
  if (!robust && !(total > 0.0)) return out;
  std::vector<double> column(n);
  for (std::size_t i = 0; i < dimension; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      column[k] = factor[k] * static_cast<double>((*vectors[k])[i]);
    }
    double sum = 0.0;
    if (!robust) {
      for (std::size_t k = 0; k < n; ++k) sum += weights[k] * column[k];
      out[i] = static_cast<float>(sum / total);
      continue;
    }
    if (trim > 0) std::sort(column.begin(), column.end());
    for (std::size_t k = trim; k < n - trim; ++k) sum += column[k];
    out[i] = static_cast<float>(sum / static_cast<double>(n - 2 * trim));
  }
  return out;
}

std::vector<float> mean_of(std::span<const std::vector<float>> vectors,
                           std::span<const double> weights, const RobustMean& how) {
  std::vector<const std::vector<float>*> pointers;
  for (const std::vector<float>& v : vectors) pointers.push_back(&v);
  return mean_of(pointers, weights, how, vectors.empty() ? 0 : vectors[0].size());
}

}  // namespace laird::consensus
