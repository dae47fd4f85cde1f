// The three convex models co-trained in the paper's experiments: loss gradients and accuracy.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/cotrain/idx_data.hpp"

namespace laird::lab {

enum class Model : std::uint8_t { kSvm, kLinear, kSoftmax };

[[nodiscard]] int outputs_of(Model model);  // columns of the weight matrix
// SVM: labels 0-4 against 5-9; the others: ten classes.
[[nodiscard]] int classes_of(Model model, int label);

// Mean gradient over the set, l2 term included; parameters are the weight matrix by columns.
void gradient_of(Model model, const ImageSet& set, const std::vector<double>& parameters,
                 std::vector<double>& gradient);
[[nodiscard]] double accuracy_of(Model model, const ImageSet& set,
                                 const std::vector<double>& parameters);

}  // namespace laird::lab
