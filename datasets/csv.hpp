// Reader of comma-separated tables: numbers in every column but the label's.
// Every problem names file, line and column.
#pragma once

#include <cstdint>
#include <string>

#include "datasets/byte_source.hpp"
#include "datasets/dataset.hpp"

namespace laird::datasets {

struct CsvLayout {
  std::string label;             // name of the label's column, or its number from 0; "" is the last
  bool header = true;            // the first line names the columns
  bool label_is_number = false;  // a number to predict; otherwise the texts found are the classes
  std::uint32_t rows_max = kRowsMax;
  std::uint32_t class_count = 0;  // labels are whole numbers below it; 0: the texts found
};

// Classes are numbered by the order of their labels: numerically if all are whole numbers, else as
// texts, so the numbering does not depend on the order of the rows.
[[nodiscard]] Result<Dataset> read_csv(ByteSource& source, const CsvLayout& layout);

}  // namespace laird::datasets
