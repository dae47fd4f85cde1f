// Comma-separated rows of a source, one after the other.
//
// Fields may be quoted ("a, b", with "" for a quote); a field never spans lines. Both line endings
// are taken, empty lines skipped. Every problem names file and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/byte_source.hpp"
#include "os/line_splitter.hpp"

namespace laird::datasets {

inline constexpr std::size_t kCsvLineMax = 1 << 20;
inline constexpr std::size_t kCsvColumnsMax = 20'000;

class CsvRows {
 public:
  // `source` outlives it.
  explicit CsvRows(ByteSource& source) : source_(source) {}

  // How many fields the next row has; nullopt at the end. Of a row of kCsvColumnsMax fields or more
  // the rest is left out.
  [[nodiscard]] Result<std::optional<std::size_t>> next();
  // The first ones are the row's, until the next call; the others are left from earlier rows.
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  // The row's line in the source, from 1.
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  [[nodiscard]] Result<std::optional<std::string_view>> next_line();
  [[nodiscard]] bool split(std::string_view line, std::size_t& count);

  ByteSource& source_;
  std::string block_ = std::string(64 * 1024, '\0');
  std::string_view left_;  // what of the block is still to be cut into lines
  LineSplitter lines_{kCsvLineMax, Overlong::kSkip};
  std::uint64_t line_ = 0;
  bool ended_ = false;
  std::vector<std::string> fields_;
};

}  // namespace laird::datasets
