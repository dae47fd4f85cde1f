// Images and labels from gzipped IDX files (Fashion-MNIST and its like), as centred features.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace laird::lab {

struct ImageSet {
  Eigen::MatrixXf features;  // one row per image, pixels in [0, 1] and a constant 1 at the end
  std::vector<int> labels;   // 0 to 9
};

// The first `limit` images of <folder>/<stem>-images-idx3-ubyte.gz and its labels.
[[nodiscard]] Result<ImageSet> read_images(const std::string& folder, const std::string& stem,
                                           std::size_t limit);

}  // namespace laird::lab
