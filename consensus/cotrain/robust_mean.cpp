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

}  // namespace

std::vector<double> factors_of(const std::vector<double>& lengths, double clip) {
  std::vector<double> out(lengths.size(), 1.0);
  if (!(clip > 0.0)) return out;
  std::vector<double> sorted = lengths;
  std::sort(sorted.begin(), sorted.end());
  // The lower of the two middle ones: with half of the boards wrong there is no right answer.
  const double limit = sorted.empty() ? 0.0 : clip * sorted[(sorted.size() - 1) / 2];
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    if (lengths[k] > limit && lengths[k] > 0.0) out[k] = limit / lengths[k];
  }
  return out;
}

void mean_into(std::span<float> out, std::span<const std::vector<float>* const> vectors,
               std::span<const double> weights, const RobustMean& how,
               std::span<const double> factors) {
  const std::size_t n = vectors.size();
  std::fill(out.begin(), out.end(), 0.0F);
  if (n == 0) return;
  const bool robust = how.trim > 0 || how.clip > 0.0;
  const std::size_t trim = std::min<std::size_t>(how.trim, (n - 1) / 2);
  double total = 0.0;
  for (std::size_t k = 0; k < n; ++k) total += weights[k];
  if (!robust && !(total > 0.0)) return;
  std::vector<double> column(n);
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      column[k] = factors[k] * static_cast<double>((*vectors[k])[i]);
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
}

std::vector<float> mean_of(std::span<const std::vector<float>* const> vectors,
                           std::span<const double> weights, const RobustMean& how,
                           std::size_t dimension) {
  std::vector<double> lengths;
  for (const auto* v : vectors) lengths.push_back(how.clip > 0.0 ? length_of(*v) : 0.0);
  std::vector<float> out(dimension, 0.0F);
  mean_into(out, vectors, weights, how, factors_of(lengths, how.clip));
  return out;
}

std::vector<float> mean_of(std::span<const std::vector<float>> vectors,
                           std::span<const double> weights, const RobustMean& how) {
  std::vector<const std::vector<float>*> pointers;
  for (const std::vector<float>& v : vectors) pointers.push_back(&v);
  return mean_of(pointers, weights, how, vectors.empty() ? 0 : vectors[0].size());
}

}  // namespace laird::consensus
