// Any two files as images and labels: read whole or refused, never a crash, never memory beyond the
// bytes given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "datasets/idx.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird::datasets;
  if (size < 2) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  // The first two bytes say where the labels begin.
  const std::size_t split = (std::size_t{data[0]} << 8 | data[1]) % (size - 1);
  const auto images = from_memory(all.substr(2 + std::min(split, size - 2)), "images");
  const auto labels = from_memory(all.substr(2, split), "labels");
  auto result = read_idx(*images, *labels, 100'000);
  if (!result) {
    LAIRD_REQUIRE(!result.error().context.empty(), "a refusal says why");
    return 0;
  }
  LAIRD_REQUIRE(result->rows > 0 && result->labels.size() == result->rows, "a label per row");
  LAIRD_REQUIRE(result->bytes.size() == std::size_t{result->rows} * result->features, "all bytes");
  LAIRD_REQUIRE(result->bytes.size() <= size, "no byte out of nothing");
  for (const std::uint16_t label : result->labels) {
    LAIRD_REQUIRE(label < result->classes, "a label is one of the classes");
  }
  result->standardise();
  std::vector<float> row(result->features);
  result->row(result->rows - 1, row.data());
  return 0;
}
