#include "datasets/idx.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace laird::datasets {
namespace {

struct Header {
  std::uint32_t rows = 0;
  std::uint64_t row_bytes = 1;  // product of the dimensions after the first
};

std::uint32_t big_endian(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
         static_cast<std::uint32_t>(p[2]) << 8 | static_cast<std::uint32_t>(p[3]);
}

tl::unexpected<Error> bad(const ByteSource& source, const std::string& what) {
  return fail(Code::kInvalid, source.name() + ": " + what);
}

Result<Header> read_header(ByteSource& source, std::string_view role) {
  std::array<std::uint8_t, 4> magic{};
  Result<std::size_t> n = source.read(magic);
  LAIRD_TRY(n);
  if (*n < magic.size() || magic[0] != 0 || magic[1] != 0) {
    return bad(source, "is not an IDX file (it must start with two zero bytes); give the " +
                           std::string(role) + " file, plain or gzip");
  }
  if (magic[2] != 8) {
    return bad(source, "holds IDX type " + std::to_string(magic[2]) +
                           "; only type 8, unsigned bytes, is read");
  }
  const std::uint32_t dimensions = magic[3];
  if (dimensions < 1 || dimensions > 4) {
    return bad(source, "has " + std::to_string(dimensions) + " dimensions; 1 to 4 are read");
  }
  Header header;
  for (std::uint32_t d = 0; d < dimensions; ++d) {
    std::array<std::uint8_t, 4> size{};
    n = source.read(size);
    LAIRD_TRY(n);
    if (*n < size.size()) return bad(source, "ends inside its header; copy it again");
    const std::uint32_t extent = big_endian(size.data());
    if (extent == 0) return bad(source, "dimension " + std::to_string(d) + " is 0: no data");
    if (d == 0) {
      header.rows = extent;
    } else {
      header.row_bytes *= extent;  // below 2^20 * 2^32 here: no overflow
    }
    if (header.row_bytes > kFeaturesMax) {
      return bad(source, "has more than " + std::to_string(kFeaturesMax) + " values in a row");
    }
  }
  return header;
}

// Grows with what really arrives: a header that promises gigabytes costs nothing by itself.
Status read_body(ByteSource& source, std::uint64_t bytes, std::vector<std::uint8_t>& out) {
  constexpr std::uint64_t kStep = std::uint64_t{4} << 20;
  while (out.size() < bytes) {
    const std::size_t before = out.size();
    const auto step = static_cast<std::size_t>(std::min(kStep, bytes - before));
    // At the first full step the file is real: take the rest in one piece, not by doubling.
    if (before == kStep) out.reserve(static_cast<std::size_t>(bytes));
    out.resize(before + step);
    const Result<std::size_t> n = source.read(std::span(out).subspan(before));
    LAIRD_TRY(n);
    if (*n < step) {
      return bad(source, "is cut: " + std::to_string(before + *n) + " of " + std::to_string(bytes) +
                             " data bytes; copy or install it again");
    }
  }
  return {};
}

// Asking for a byte more also makes a gzip file check its sum over the whole.
Status expect_end(ByteSource& source) {
  std::array<std::uint8_t, 1> more{};
  const Result<std::size_t> n = source.read(more);
  LAIRD_TRY(n);
  if (*n > 0) return bad(source, "is longer than its header says; copy or install it again");
  return {};
}

}  // namespace

Result<Dataset> read_idx(ByteSource& images, ByteSource& labels, std::uint32_t rows_max) {
  const Result<Header> image_header = read_header(images, "images");
  LAIRD_TRY(image_header);
  const Result<Header> label_header = read_header(labels, "labels");
  LAIRD_TRY(label_header);
  if (label_header->row_bytes != 1) {
    return bad(labels, "has more than one value per row; give the labels file (idx1-ubyte)");
  }
  if (image_header->rows != label_header->rows) {
    return bad(labels, "has " + std::to_string(label_header->rows) + " rows, but " + images.name() +
                           " has " + std::to_string(image_header->rows) +
                           "; give the pair of one data set");
  }
  Dataset data;
  data.rows = std::min({image_header->rows, rows_max, kRowsMax});
  data.features = static_cast<std::uint32_t>(image_header->row_bytes);
  const std::uint64_t body = std::uint64_t{data.rows} * data.features;
  if (body > kDataBytesMax) {
    return bad(images, "needs " + std::to_string(body) + " bytes of memory, the limit is " +
                           std::to_string(kDataBytesMax) + "; set \"limit_rows\"");
  }
  LAIRD_TRY(read_body(images, body, data.bytes));
  std::vector<std::uint8_t> classes;
  LAIRD_TRY(read_body(labels, data.rows, classes));
  if (data.rows == image_header->rows) {
    for (ByteSource* source : {&images, &labels}) {
      LAIRD_TRY(expect_end(*source));
    }
  }
  data.labels.assign(classes.begin(), classes.end());
  data.classes = *std::max_element(classes.begin(), classes.end()) + 1U;
  return data;
}

}  // namespace laird::datasets
