// Puts rows of a data set into a network's input, with what they should come to.
#pragma once

#include <vector>

#include "datasets/dataset.hpp"
#include "trainers/model/network.hpp"

namespace laird::trainers {

class BatchLoader {
 public:
  explicit BatchLoader(std::uint32_t batch) : labels_(batch), numbers_(batch) {}

  // Column `column` of the next batch takes row `row`.
  void put(const datasets::Dataset& data, std::uint32_t row, std::uint32_t column,
           Network<float>& network) {
    data.row(row, network.input(column));
    if (data.classes > 0) {
      labels_[column] = data.labels[row];
    } else {
      numbers_[column] = data.targets[row];
    }
  }

  // Of the first `count` columns; good until the next put.
  [[nodiscard]] Targets targets(const datasets::Dataset& data, std::uint32_t count) const {
    Targets out;
    if (data.classes > 0) {
      out.labels = std::span(labels_).first(count);
    } else {
      out.numbers = std::span(numbers_).first(count);
    }
    return out;
  }

 private:
  std::vector<std::uint16_t> labels_;
  std::vector<float> numbers_;
};

}  // namespace laird::trainers
