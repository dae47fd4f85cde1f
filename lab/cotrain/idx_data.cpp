#include "lab/cotrain/idx_data.hpp"

#include "datasets/idx.hpp"

namespace laird::lab {

Result<ImageSet> read_images(const std::string& folder, const std::string& stem,
                             std::size_t limit) {
  constexpr std::size_t kPixels = 28 * 28;
  const std::string path = folder + "/" + stem;
  const auto images = datasets::open_file(path + "-images-idx3-ubyte.gz");
  const auto labels = datasets::open_file(path + "-labels-idx1-ubyte.gz");
  if (!images || !labels) {
    const Error& error = images ? labels.error() : images.error();
    return fail(error.code, error.context + " (Debian package dataset-fashion-mnist has it)");
  }
  const Result<datasets::Dataset> data =
      datasets::read_idx(**images, **labels, static_cast<std::uint32_t>(limit));
  LAIRD_TRY(data);
  if (data->features != kPixels || data->classes > 10) {
    return fail(Code::kCorrupt, path + ": not 28x28 images of ten classes");
  }
  ImageSet set;
  set.features.resize(static_cast<Eigen::Index>(data->rows), kPixels + 1);
  for (std::size_t i = 0; i < data->rows; ++i) {
    for (std::size_t p = 0; p < kPixels; ++p) {
      set.features(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p)) =
          static_cast<float>(data->bytes[i * kPixels + p]) / 255.0F;
    }
    set.features(static_cast<Eigen::Index>(i), kPixels) = 1.0F;
    set.labels.push_back(data->labels[i]);
  }
  return set;
}

}  // namespace laird::lab
