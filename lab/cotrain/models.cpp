#include "lab/cotrain/models.hpp"

#include <algorithm>

namespace laird::lab {
namespace {

constexpr float kL2 = 1e-4F;

Eigen::MatrixXf weights_of(const std::vector<double>& parameters, Eigen::Index rows, int columns) {
  Eigen::MatrixXf w(rows, columns);
  for (Eigen::Index i = 0; i < w.size(); ++i) {
    w.data()[i] = static_cast<float>(parameters[static_cast<std::size_t>(i)]);
  }
  return w;
}

}  // namespace

int outputs_of(Model model) { return model == Model::kSvm ? 1 : 10; }

int classes_of(Model model, int label) {
  if (model == Model::kSvm) return label < 5 ? -1 : 1;
  return label;
}

void gradient_of(Model model, const ImageSet& set, const std::vector<double>& parameters,
                 std::vector<double>& gradient) {
  const Eigen::MatrixXf w = weights_of(parameters, set.features.cols(), outputs_of(model));
  Eigen::MatrixXf out = set.features * w;
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    const int label = classes_of(model, set.labels[static_cast<std::size_t>(i)]);
    if (model == Model::kSvm) {
      // Squared hinge: max(0, 1 - y s)^2 / 2.
      const float y = static_cast<float>(label);
      out(i, 0) = -y * std::max(0.0F, 1.0F - y * out(i, 0));
    } else if (model == Model::kLinear) {
      out(i, label) -= 1.0F;
    } else {
      const float top = out.row(i).maxCoeff();
      out.row(i) = (out.row(i).array() - top).exp();
      out.row(i) /= out.row(i).sum();
      out(i, label) -= 1.0F;
    }
  }
  const Eigen::MatrixXf g =
      set.features.transpose() * out / static_cast<float>(out.rows()) + kL2 * w;
  gradient.resize(static_cast<std::size_t>(g.size()));
  for (Eigen::Index i = 0; i < g.size(); ++i) {
    gradient[static_cast<std::size_t>(i)] = static_cast<double>(g.data()[i]);
  }
}

double accuracy_of(Model model, const ImageSet& set, const std::vector<double>& parameters) {
  const Eigen::MatrixXf out =
      set.features * weights_of(parameters, set.features.cols(), outputs_of(model));
  int right = 0;
  for (Eigen::Index i = 0; i < out.rows(); ++i) {
    const int label = classes_of(model, set.labels[static_cast<std::size_t>(i)]);
    if (model == Model::kSvm) {
      right += (out(i, 0) >= 0 ? 1 : -1) == label ? 1 : 0;
    } else {
      Eigen::Index best = 0;
      out.row(i).maxCoeff(&best);
      right += best == label ? 1 : 0;
    }
  }
  return 100.0 * right / static_cast<double>(out.rows());
}

}  // namespace laird::lab
