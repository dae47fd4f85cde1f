#include "datasets/csv_rows.hpp"

#include <algorithm>

namespace laird::datasets {

Result<std::optional<std::size_t>> CsvRows::next() {
  for (;;) {
    const Result<std::optional<std::string_view>> next = next_line();
    LAIRD_TRY(next);
    if (!next->has_value()) return std::optional<std::size_t>();
    std::string_view line = **next;
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    std::size_t count = 0;
    if (split(line, count)) return std::optional(count);
    return fail(Code::kInvalid, source_.name() + ":" + std::to_string(line_) +
                                    ": a quote is not closed, or text follows it");
  }
}

// The view is good until the next call.
Result<std::optional<std::string_view>> CsvRows::next_line() {
  for (;;) {
    const auto next = lines_.next(left_);
    if (lines_.overlong() > 0) {
      return fail(Code::kInvalid, source_.name() + ":" + std::to_string(line_ + 1) +
                                      ": the line is longer than " + std::to_string(kCsvLineMax) +
                                      " bytes; is this a CSV file?");
    }
    if (next) return next;
    if (ended_) return lines_.finish();
    const Result<std::size_t> n =
        source_.read({reinterpret_cast<std::uint8_t*>(block_.data()), block_.size()});
    LAIRD_TRY(n);
    left_ = std::string_view(block_).substr(0, *n);
    ended_ = *n < block_.size();
  }
}

// Reuses the fields' strings; false for a quote that does not close.
bool CsvRows::split(std::string_view line, std::size_t& count) {
  count = 0;
  std::size_t at = 0;
  for (;;) {
    if (count == fields_.size()) {
      if (count == kCsvColumnsMax) return true;  // the caller sees one column too many
      fields_.emplace_back();
    }
    std::string& field = fields_[count++];
    field.clear();
    if (at < line.size() && line[at] == '"') {
      ++at;
      for (;;) {
        if (at >= line.size()) return false;
        if (line[at] == '"' && at + 1 < line.size() && line[at + 1] == '"')
          ++at;
        else if (line[at] == '"')
          break;
        field.push_back(line[at++]);
      }
      ++at;
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.assign(line.substr(at, end - at));
      at = end;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

}  // namespace laird::datasets
