#include "lab/cotrain/idx_data.hpp"

#include <zlib.h>

#include <memory>

namespace laird::lab {
namespace {

struct Closer {
  void operator()(gzFile_s* f) const { gzclose(f); }
};
using File = std::unique_ptr<gzFile_s, Closer>;

Result<std::vector<unsigned char>> read_all(const std::string& path, std::size_t header,
                                            std::size_t bytes) {
  const File f(gzopen(path.c_str(), "rb"));
  if (!f) {
    return fail(Code::kNotFound, path + " (Debian package dataset-fashion-mnist has it)");
  }
  std::vector<unsigned char> data(header + bytes);
  const int got = gzread(f.get(), data.data(), static_cast<unsigned>(data.size()));
  if (got < 0 || static_cast<std::size_t>(got) <= header) {
    return fail(Code::kCorrupt, path + " is not a gzipped IDX file");
  }
  data.resize(static_cast<std::size_t>(got));
  return data;
}

std::uint32_t big_endian(const std::vector<unsigned char>& d, std::size_t at) {
  return static_cast<std::uint32_t>(d[at]) << 24 | static_cast<std::uint32_t>(d[at + 1]) << 16 |
         static_cast<std::uint32_t>(d[at + 2]) << 8 | d[at + 3];
}

}  // namespace

Result<ImageSet> read_idx(const std::string& folder, const std::string& stem, std::size_t limit) {
  constexpr std::size_t kPixels = 28 * 28;
  const std::string images = folder + "/" + stem + "-images-idx3-ubyte.gz";
  const auto pixels = read_all(images, 16, limit * kPixels);
  if (!pixels) return tl::make_unexpected(pixels.error());
  const auto labels = read_all(folder + "/" + stem + "-labels-idx1-ubyte.gz", 8, limit);
  if (!labels) return tl::make_unexpected(labels.error());
  if (big_endian(*pixels, 0) != 0x803 || big_endian(*pixels, 8) != 28 ||
      big_endian(*labels, 0) != 0x801) {
    return fail(Code::kCorrupt, images + " is not an IDX file of 28x28 images");
  }
  const std::size_t count = std::min((pixels->size() - 16) / kPixels, labels->size() - 8);
  ImageSet set;
  set.features.resize(static_cast<Eigen::Index>(count), kPixels + 1);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < kPixels; ++p) {
      set.features(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p)) =
          static_cast<float>((*pixels)[16 + i * kPixels + p]) / 255.0F;
    }
    set.features(static_cast<Eigen::Index>(i), kPixels) = 1.0F;
    const int label = (*labels)[8 + i];
    if (label > 9) return fail(Code::kCorrupt, "a label above 9");
    set.labels.push_back(label);
  }
  return set;
}

}  // namespace laird::lab
