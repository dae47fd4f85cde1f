#include "models/rows_file.hpp"

#include <bit>

#include "base/require.hpp"

namespace laird::models {
namespace {

constexpr std::string_view kMagic = "LAIRDROW";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 8 + 4 * 4;

void put(std::string& out, std::uint32_t word) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>(word >> shift & 0xFFU));
  }
}

std::uint32_t take(std::string_view& in) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) {
    word |= std::uint32_t{static_cast<unsigned char>(in[i])} << (8 * i);
  }
  in.remove_prefix(4);
  return word;
}

void put_all(std::string& out, const std::vector<float>& values) {
  for (const float v : values) put(out, std::bit_cast<std::uint32_t>(v));
}

std::vector<float> take_all(std::string_view& in, std::uint64_t count) {
  std::vector<float> out(count);
  for (float& v : out) v = std::bit_cast<float>(take(in));
  return out;
}

}  // namespace

std::string pack_rows(const Rows& rows) {
  LAIRD_REQUIRE(rows.inputs.size() == std::size_t{rows.rows} * rows.features &&
                    rows.labels.size() == rows.rows &&
                    rows.answers.size() == std::size_t{rows.rows} * rows.outputs,
                "every row is whole");
  std::string out(kMagic);
  out.reserve(kHeadBytes + 4 * (rows.inputs.size() + rows.labels.size() + rows.answers.size()));
  for (const std::uint32_t n : {kVersion, rows.rows, rows.features, rows.outputs}) put(out, n);
  put_all(out, rows.inputs);
  put_all(out, rows.labels);
  put_all(out, rows.answers);
  return out;
}

Result<Rows> unpack_rows(std::string_view bytes) {
  if (bytes.size() < kHeadBytes || !bytes.starts_with(kMagic)) {
    return fail(Code::kCorrupt, "is no file of rows");
  }
  bytes.remove_prefix(kMagic.size());
  const std::uint32_t version = take(bytes);
  if (version != kVersion) {
    return fail(Code::kRefused, "is of version " + std::to_string(version) +
                                    "; this program reads " + std::to_string(kVersion));
  }
  Rows out;
  out.rows = take(bytes);
  out.features = take(bytes);
  out.outputs = take(bytes);
  // Each below 2^32, so the sum of products stays below 2^64.
  const std::uint64_t width = std::uint64_t{out.features} + out.outputs + 1;
  const bool fits = out.rows > 0 && out.features > 0 && out.outputs > 0 && width <= kRowsBytesMax &&
                    out.rows <= kRowsBytesMax && bytes.size() == out.rows * width * 4;
  if (!fits) return fail(Code::kCorrupt, "is cut, or longer than its head says");
  out.inputs = take_all(bytes, std::uint64_t{out.rows} * out.features);
  out.labels = take_all(bytes, out.rows);
  out.answers = take_all(bytes, std::uint64_t{out.rows} * out.outputs);
  return out;
}

}  // namespace laird::models
