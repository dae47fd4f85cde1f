#include "trainers/model/network.hpp"

#include <cmath>
#include <utility>

#include "base/require.hpp"

namespace laird::trainers {
namespace {

// Every part starts on a 64-byte boundary within the vector: how Eigen splits a loop into packets
// depends on alignment, and a resumed process must sum in the same order as the first.
constexpr Eigen::Index kAlign = 16;

constexpr Eigen::Index padded(Eigen::Index n) { return (n + kAlign - 1) / kAlign * kAlign; }

}  // namespace

template <class Scalar>
auto Network<Scalar>::layout(const Shape& shape, Eigen::Index& total) -> std::vector<Layer> {
  LAIRD_REQUIRE(shape.sizes.size() >= 2, "a network has inputs and outputs");
  std::vector<Layer> layers;
  total = 0;
  for (std::size_t l = 0; l + 1 < shape.sizes.size(); ++l) {
    Layer layer{};
    layer.in = shape.sizes[l];
    layer.out = shape.sizes[l + 1];
    layer.weights = total;
    total += padded(layer.in * layer.out);
    layer.biases = total;
    total += padded(layer.out);
    layers.push_back(layer);
  }
  return layers;
}

template <class Scalar>
std::size_t Network<Scalar>::parameter_count(const Shape& shape) {
  Eigen::Index total = 0;
  (void)layout(shape, total);
  return static_cast<std::size_t>(total);
}

template <class Scalar>
Network<Scalar>::Network(Shape shape, std::uint32_t batch)
    : shape_(std::move(shape)), per_sample_(Scalar(1) / static_cast<Scalar>(batch)) {
  Eigen::Index total = 0;
  layers_ = layout(shape_, total);
  parameters_.setZero(total);
  gradient_.setZero(total);
  const auto columns = static_cast<Eigen::Index>(batch);
  activations_.emplace_back(Matrix::Zero(layers_[0].in, columns));
  for (const Layer& layer : layers_) {
    activations_.emplace_back(Matrix::Zero(layer.out, columns));
    deltas_.emplace_back(Matrix::Zero(layer.out, columns));
  }
}

template <class Scalar>
void Network<Scalar>::initialise(Random& random) {
  parameters_.setZero();
  if (layers_.size() == 1) return;
  for (const Layer& layer : layers_) {
    const double gain = &layer == &layers_.back() ? 1.0 : 2.0;
    const double deviation = std::sqrt(gain / static_cast<double>(layer.in));
    Scalar* w = parameters_.data() + layer.weights;
    for (Eigen::Index i = 0; i < layer.in * layer.out; ++i) {
      w[i] = static_cast<Scalar>(deviation * random.normal());
    }
  }
}

template <class Scalar>
double Network<Scalar>::loss(std::uint32_t count, const Targets& targets) {
  const auto n = static_cast<Eigen::Index>(count);
  LAIRD_REQUIRE(n >= 1 && n <= activations_[0].cols(), "a batch holds 1 to `batch` samples");
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    auto z = activations_[l + 1].leftCols(n);
    z.noalias() = weights(layers_[l]) * activations_[l].leftCols(n);
    z.colwise() += biases(layers_[l]);
    if (l + 1 < layers_.size()) z = z.cwiseMax(Scalar(0));
  }
  return output_loss(n, targets);
}

template <class Scalar>
double Network<Scalar>::loss_and_gradient(std::uint32_t count, const Targets& targets) {
  const double sum = loss(count, targets);
  const auto n = static_cast<Eigen::Index>(count);
  spread_deltas(n);
  if (row_gradient_max_ > Scalar(0)) clip_deltas(n);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const auto delta = deltas_[l].leftCols(n);
    MatrixMap(gradient_.data() + layer.weights, layer.out, layer.in).noalias() =
        delta * activations_[l].leftCols(n).transpose();
    VectorMap(gradient_.data() + layer.biases, layer.out) = delta.rowwise().sum();
  }
  return sum;
}

// From the outputs down.
template <class Scalar>
void Network<Scalar>::spread_deltas(Eigen::Index count) {
  for (std::size_t l = layers_.size(); l-- > 1;) {
    auto below = deltas_[l - 1].leftCols(count);
    below.noalias() = weights(layers_[l]).transpose() * deltas_[l].leftCols(count);
    // The slope of ReLU; 0 at 0.
    below.array() *= (activations_[l].leftCols(count).array() > Scalar(0)).template cast<Scalar>();
  }
}

template <class Scalar>
void Network<Scalar>::clip_deltas(Eigen::Index count) {
  for (Eigen::Index c = 0; c < count; ++c) {
    Scalar square = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      square +=
          deltas_[l].col(c).squaredNorm() * (activations_[l].col(c).squaredNorm() + Scalar(1));
    }
    const Scalar most = row_gradient_max_ * per_sample_;
    const Scalar length = std::sqrt(square);
    // Written so that a row whose gradient is no number adds nothing.
    const Scalar factor = length <= most ? Scalar(1) : most / length;
    const bool sound = factor > Scalar(0);
    for (Matrix& delta : deltas_) {
      if (sound) {
        delta.col(c) *= factor;
      } else {
        delta.col(c).setZero();
      }
    }
  }
}

template <class Scalar>
void Network<Scalar>::bound_rows(Scalar gradient_max, double loss_max) {
  row_gradient_max_ = gradient_max;
  row_loss_max_ = loss_max;
}

template <class Scalar>
double Network<Scalar>::bounded(double row_loss) const {
  // A loss that is no number counts as the largest.
  return row_loss_max_ > 0.0 && !(row_loss < row_loss_max_) ? row_loss_max_ : row_loss;
}

template <class Scalar>
std::uint16_t Network<Scalar>::predicted(std::uint32_t column) const {
  const auto out = activations_.back().col(static_cast<Eigen::Index>(column));
  if (out.size() == 1) return out[0] > Scalar(0) ? 1 : 0;
  Eigen::Index best = 0;
  out.maxCoeff(&best);
  return static_cast<std::uint16_t>(best);
}

template <class Scalar>
void Network<Scalar>::add_penalty(Scalar l2_share) {
  for (const Layer& layer : layers_) {
    const Eigen::Index size = layer.in * layer.out;
    gradient_.segment(layer.weights, size) += l2_share * parameters_.segment(layer.weights, size);
  }
}

template <class Scalar>
double Network<Scalar>::output_loss(Eigen::Index count, const Targets& targets) {
  switch (shape_.loss) {
    case Loss::kSquared: return squared(count, targets);
    case Loss::kHinge: return hinge(count, targets);
    case Loss::kCrossEntropy: return cross_entropy(count, targets);
  }
  return 0.0;
}

template <class Scalar>
double Network<Scalar>::squared(Eigen::Index count, const Targets& targets) {
  const Matrix& z = activations_.back();
  Matrix& delta = deltas_.back();
  const Eigen::Index outputs = z.rows();
  const Scalar factor = Scalar(2) * per_sample_ / static_cast<Scalar>(outputs);
  double sum = 0.0;
  for (Eigen::Index c = 0; c < count; ++c) {
    const auto sample = static_cast<std::size_t>(c);
    double row = 0.0;
    for (Eigen::Index k = 0; k < outputs; ++k) {
      const Scalar target = targets.labels.empty() ? static_cast<Scalar>(targets.numbers[sample])
                            : targets.labels[sample] == k ? Scalar(1)
                                                          : Scalar(0);
      const Scalar error = z(k, c) - target;
      row += static_cast<double>(error) * static_cast<double>(error);
      delta(k, c) = factor * error;
    }
    sum += bounded(row / static_cast<double>(outputs));
  }
  return sum;
}

template <class Scalar>
double Network<Scalar>::hinge(Eigen::Index count, const Targets& targets) {
  const Matrix& z = activations_.back();
  Matrix& delta = deltas_.back();
  double sum = 0.0;
  for (Eigen::Index c = 0; c < count; ++c) {
    const Eigen::Index label = targets.labels[static_cast<std::size_t>(c)];
    if (z.rows() == 1) {
      const Scalar y = label == 1 ? Scalar(1) : Scalar(-1);
      const Scalar margin = Scalar(1) - y * z(0, c);
      // Written so that a NaN margin reaches the sum instead of passing for 0.
      const bool fine = margin <= Scalar(0);
      if (!fine) sum += bounded(static_cast<double>(margin));
      delta(0, c) = fine ? Scalar(0) : -y * per_sample_;
      continue;
    }
    Eigen::Index rival = label == 0 ? 1 : 0;
    for (Eigen::Index k = 0; k < z.rows(); ++k) {
      if (k != label && z(k, c) > z(rival, c)) rival = k;
    }
    const Scalar margin = Scalar(1) + z(rival, c) - z(label, c);
    delta.col(c).setZero();
    if (margin <= Scalar(0)) continue;
    sum += bounded(static_cast<double>(margin));
    delta(rival, c) = per_sample_;
    delta(label, c) = -per_sample_;
  }
  return sum;
}

template <class Scalar>
double Network<Scalar>::cross_entropy(Eigen::Index count, const Targets& targets) {
  const Matrix& z = activations_.back();
  Matrix& delta = deltas_.back();
  double sum = 0.0;
  for (Eigen::Index c = 0; c < count; ++c) {
    const Eigen::Index label = targets.labels[static_cast<std::size_t>(c)];
    const Scalar top = z.col(c).maxCoeff();
    delta.col(c) = (z.col(c).array() - top).exp();
    const Scalar total = delta.col(c).sum();
    sum += bounded(std::log(static_cast<double>(total)) - static_cast<double>(z(label, c) - top));
    delta.col(c) *= per_sample_ / total;
    delta(label, c) -= per_sample_;
  }
  return sum;
}

double weights_of(const Shape& shape) {
  double count = 0.0;
  for (std::size_t l = 0; l + 1 < shape.sizes.size(); ++l) {
    count += static_cast<double>(shape.sizes[l]) * static_cast<double>(shape.sizes[l + 1]);
  }
  return count;
}

template class Network<float>;
template class Network<double>;

}  // namespace laird::trainers
