// One model for all four kinds: layers of weights and biases with ReLU between them, and a loss on
// top. No hidden layer and squared, hinge or cross-entropy loss make linear regression, the SVM and
// softmax regression; hidden layers make the MLP.
//
// Symbols: x input column, a_l activations of layer l, z = W a + b, n samples of a batch, K
// outputs.
//   squared        (1/K) sum_k (z_k - t_k)^2
//   hinge          K = 1: max(0, 1 - y z), y = +1 or -1; K > 1: max(0, 1 + max_{j != y} z_j - z_y)
//                  (Crammer and Singer, 2001, eq. 4 with unit margin)
//   cross-entropy  ln sum_k exp(z_k) - z_y, shifted by max z so that exp cannot overflow
// First weights: 0 without hidden layers (convex: any start will do, and 0 is reproducible);
// otherwise normal with variance 2/inputs (He, Zhang, Ren, Sun, 2015, eq. 10), biases 0; the last
// layer 1/inputs, as no ReLU follows it.
// Deviation from the usual mini-batch mean: gradients are divided by the nominal batch size, also
// when a grant or the epoch's end cuts a batch short, so a cut batch takes a proportionally smaller
// step and every sample weighs the same.
//
// Scalar is float in training; double serves the gradient check.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "models/metric.hpp"

namespace laird::trainers {

using Loss = models::Loss;

struct Shape {
  std::vector<std::uint32_t> sizes;  // inputs, hidden layers, outputs
  Loss loss = Loss::kCrossEntropy;
};

// What a batch should come to: a class per sample, or a number per sample (squared loss, K = 1).
struct Targets {
  std::span<const std::uint16_t> labels;
  std::span<const float> numbers;
};

template <class Scalar>
class Network {
 public:
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

  Network(Shape shape, std::uint32_t batch);

  void initialise(Random& random);

  // All weights and biases in one vector: what steps, checkpoints and gradient checks work on.
  [[nodiscard]] Vector& parameters() { return parameters_; }
  [[nodiscard]] const Vector& parameters() const { return parameters_; }
  [[nodiscard]] const Vector& gradient() const { return gradient_; }

  // Column c takes the input of sample c of the next batch.
  [[nodiscard]] Scalar* input(std::uint32_t column) { return activations_[0].col(column).data(); }

  // Sum of the losses of the first `count` input columns; leaves the gradient of
  // (that sum / nominal batch size) in gradient().
  [[nodiscard]] double loss_and_gradient(std::uint32_t count, const Targets& targets);

  // From now on no row adds more to a gradient than one of this length, and more to a loss than
  // this.
  void bound_rows(Scalar gradient_max, double loss_max);

  // The same without a gradient.
  [[nodiscard]] double loss(std::uint32_t count, const Targets& targets);

  // The class that column `column` of the last batch came out as.
  [[nodiscard]] std::uint16_t predicted(std::uint32_t column) const;

  // gradient += l2 * share * weights (not biases), the gradient of the penalty.
  void add_penalty(Scalar l2_share);

  [[nodiscard]] static std::size_t parameter_count(const Shape& shape);

  struct Layer {
    Eigen::Index in, out;
    Eigen::Index weights, biases;  // offsets into the parameters; weights by column, out x in
  };
  static std::vector<Layer> layout(const Shape& shape, Eigen::Index& total);

 private:
  using MatrixMap = Eigen::Map<Matrix, Eigen::Aligned16>;
  using VectorMap = Eigen::Map<Vector, Eigen::Aligned16>;

  MatrixMap weights(const Layer& layer) {
    return MatrixMap(parameters_.data() + layer.weights, layer.out, layer.in);
  }
  VectorMap biases(const Layer& layer) {
    return VectorMap(parameters_.data() + layer.biases, layer.out);
  }

  void spread_deltas(Eigen::Index count);
  void clip_deltas(Eigen::Index count);
  double bounded(double row_loss) const;
  double output_loss(Eigen::Index count, const Targets& targets);
  double squared(Eigen::Index count, const Targets& targets);
  double hinge(Eigen::Index count, const Targets& targets);
  double cross_entropy(Eigen::Index count, const Targets& targets);

  Shape shape_;
  Scalar per_sample_;            // 1 / nominal batch size
  Scalar row_gradient_max_ = 0;  // 0: as it is
  double row_loss_max_ = 0.0;    // 0: as it is
  std::vector<Layer> layers_;
  Vector parameters_, gradient_;
  std::vector<Matrix> activations_;  // [0] the input, [l + 1] what layer l gives
  std::vector<Matrix> deltas_;       // [l] gradient by what layer l gives
};

inline constexpr std::size_t kParametersMax = 50'000'000;
// In double: the product of sizes may pass 64 bits.
[[nodiscard]] double weights_of(const Shape& shape);

extern template class Network<float>;
extern template class Network<double>;

}  // namespace laird::trainers
