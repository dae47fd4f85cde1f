// Any text as a table, under every layout.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/require.hpp"
#include "datasets/csv.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace laird::datasets;
  if (size < 1) return 0;
  const auto source = from_memory({reinterpret_cast<const char*>(data) + 1, size - 1}, "table");
  CsvLayout layout;
  layout.header = (data[0] & 1) != 0;
  layout.label_is_number = (data[0] & 2) != 0;
  layout.label = (data[0] & 4) != 0 ? "0" : "";
  auto result = read_csv(*source, layout);
  if (!result) return 0;
  LAIRD_REQUIRE(result->rows > 0, "an empty table is refused");
  LAIRD_REQUIRE(result->values.size() == std::size_t{result->rows} * result->features, "all cells");
  for (const float v : result->values) LAIRD_REQUIRE(std::isfinite(v), "cells are numbers");
  for (const std::uint16_t label : result->labels) {
    LAIRD_REQUIRE(label < result->classes, "a label is one of the classes");
  }
  result->standardise();
  return 0;
}
