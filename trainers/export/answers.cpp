#include "trainers/export/answers.hpp"

#include <algorithm>

namespace laird::trainers {
namespace {

using Matrix = Network<float>::Matrix;
using Vector = Network<float>::Vector;

constexpr std::size_t kActivationsBytes = 8 << 20;
constexpr std::size_t kWeightsAtOnce = 256 * 1024;

// Adds a layer's weights times `in`, some columns of the weights at a time.
Status multiply(const Network<float>::Layer& layer, const ReadWeights& read, const Matrix& in,
                Matrix& out) {
  const Eigen::Index columns =
      std::max<Eigen::Index>(1, static_cast<Eigen::Index>(kWeightsAtOnce) / layer.out);
  Matrix block(layer.out, std::min(columns, layer.in));
  Vector biases(layer.out);
  LAIRD_TRY(read(static_cast<std::uint64_t>(layer.biases),
                 {biases.data(), static_cast<std::size_t>(layer.out)}));
  out.resize(layer.out, in.cols());
  out.colwise() = biases;
  for (Eigen::Index at = 0; at < layer.in; at += columns) {
    const Eigen::Index n = std::min(columns, layer.in - at);
    LAIRD_TRY(read(static_cast<std::uint64_t>(layer.weights + at * layer.out),
                   {block.data(), static_cast<std::size_t>(n * layer.out)}));
    out.noalias() += block.leftCols(n) * in.middleRows(at, n);
  }
  return {};
}

}  // namespace

Result<std::vector<float>> answers_of(const ModelInfo& info, const ReadWeights& read,
                                      std::span<const float> inputs) {
  Eigen::Index total = 0;
  const auto layers = Network<float>::layout(info.shape(), total);
  const std::size_t features = info.sizes.front();
  const std::size_t rows = inputs.size() / features;
  const std::size_t widest = *std::max_element(info.sizes.begin(), info.sizes.end());
  const std::size_t at_once = std::max<std::size_t>(1, kActivationsBytes / (4 * widest));
  const Scaling& s = info.scaling;
  std::vector<float> out;
  out.reserve(rows * info.sizes.back());
  Matrix here;
  Matrix next;
  for (std::size_t row = 0; row < rows; row += at_once) {
    const std::size_t n = std::min(at_once, rows - row);
    here.resize(static_cast<Eigen::Index>(features), static_cast<Eigen::Index>(n));
    for (std::size_t i = 0; i < n * features; ++i) {
      const std::size_t pair = s.shift.size() == 1 ? 0 : i % features;
      here.data()[i] = (inputs[row * features + i] - s.shift[pair]) * s.scale[pair];
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      LAIRD_TRY(multiply(layers[l], read, here, next));
      if (l + 1 < layers.size()) next = next.cwiseMax(0.0F);
      std::swap(here, next);
    }
    out.insert(out.end(), here.data(), here.data() + here.size());
  }
  if (info.classes == 0) {
    for (float& v : out) {
      v = static_cast<float>(static_cast<double>(v) * s.target_deviation + s.target_mean);
    }
  }
  return out;
}

}  // namespace laird::trainers
