#include "trainers/data/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "os/line_splitter.hpp"

namespace laird::trainers {
namespace {

// Lines of a source, bounded in length.
class Lines {
 public:
  explicit Lines(ByteSource& source) : source_(source) {}

  [[nodiscard]] std::uint64_t number() const { return number_; }

  // nullopt at the end; the view is good until the next call.
  [[nodiscard]] Result<std::optional<std::string_view>> next() {
    for (;;) {
      const auto next = lines_.next(left_);
      if (lines_.overlong() > 0) {
        return fail(Code::kInvalid, source_.name() + ":" + std::to_string(number_ + 1) +
                                        ": the line is longer than " + std::to_string(kCsvLineMax) +
                                        " bytes; is this a CSV file?");
      }
      if (next) return take(*next);
      if (ended_) {
        const auto last = lines_.finish();
        return last ? take(*last) : last;
      }
      const Result<std::size_t> n =
          source_.read({reinterpret_cast<std::uint8_t*>(block_.data()), block_.size()});
      if (!n) return tl::make_unexpected(n.error());
      left_ = std::string_view(block_).substr(0, *n);
      ended_ = *n < block_.size();
    }
  }

 private:
  std::optional<std::string_view> take(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number_;
    return line;
  }

  ByteSource& source_;
  std::string block_ = std::string(64 * 1024, '\0');
  std::string_view left_;  // what of the block is still to be cut into lines
  LineSplitter lines_{kCsvLineMax, Overlong::kSkip};
  std::uint64_t number_ = 0;
  bool ended_ = false;
};

// Splits one line into `fields`, reusing its strings; false for a quote that does not close.
bool split(std::string_view line, std::vector<std::string>& fields, std::size_t& count) {
  count = 0;
  std::size_t at = 0;
  for (;;) {
    if (count == fields.size()) {
      if (count == kCsvColumnsMax) return true;  // the caller sees one column too many
      fields.emplace_back();
    }
    std::string& field = fields[count++];
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

std::optional<double> number_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double v = std::strtod(text.c_str(), &end);
  while (end != nullptr && *end == ' ') ++end;
  if (end != text.c_str() + text.size() || !std::isfinite(v)) return std::nullopt;
  // The models work in single precision.
  if (std::fabs(v) > 1e30) return std::nullopt;
  return v;
}

// Labels as they come, numbered by their order once all are known.
class ClassNumbers {
 public:
  // nullopt when there are too many different ones.
  std::optional<std::uint16_t> add(const std::string& text) {
    const auto [at, added] = ids_.try_emplace(text, static_cast<std::uint16_t>(ids_.size()));
    if (added && ids_.size() > kClassesMax) return std::nullopt;
    return at->second;
  }

  std::uint32_t finish(std::vector<std::uint16_t>& labels) const {
    std::vector<std::pair<std::string, std::uint16_t>> order(ids_.begin(), ids_.end());
    const bool whole = std::all_of(order.begin(), order.end(), [](const auto& entry) {
      const std::optional<double> v = number_of(entry.first);
      return v && *v == std::floor(*v);
    });
    if (whole) {
      std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return *number_of(a.first) < *number_of(b.first);
      });
    }
    std::vector<std::uint16_t> renumbered(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      renumbered[order[i].second] = static_cast<std::uint16_t>(i);
    }
    for (std::uint16_t& label : labels) label = renumbered[label];
    return static_cast<std::uint32_t>(order.size());
  }

 private:
  std::map<std::string, std::uint16_t> ids_;
};

class Table {
 public:
  Table(ByteSource& source, const CsvLayout& layout)
      : source_(source), layout_(layout), lines_(source) {}

  Result<Dataset> read() {
    while (data_.rows < layout_.rows_max) {
      const Result<std::optional<std::string_view>> line = lines_.next();
      if (!line) return tl::make_unexpected(line.error());
      if (!line->has_value()) break;
      if ((*line)->empty()) continue;
      if (Status s = take_line(**line); !s) return tl::make_unexpected(s.error());
    }
    if (data_.rows == 0) return fail(Code::kInvalid, source_.name() + ": holds no row of data");
    if (!layout_.label_is_number) {
      data_.classes = layout_.class_count > 0 ? layout_.class_count : classes_.finish(data_.labels);
    }
    return std::move(data_);
  }

 private:
  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(Code::kInvalid,
                source_.name() + ":" + std::to_string(lines_.number()) + ": " + what);
  }

  Status take_line(std::string_view line) {
    std::size_t count = 0;
    if (!split(line, fields_, count)) return bad("a quote is not closed, or text follows it");
    if (columns_ == 0) {
      if (Status s = take_first(count); !s || layout_.header) return s;
    }
    if (count != columns_) {
      return bad(std::to_string(count) + " columns, the first line has " +
                 std::to_string(columns_));
    }
    return take_row();
  }

  Status take_first(std::size_t count) {
    if (count < 2 || count >= kCsvColumnsMax) {
      return bad(std::to_string(count) +
                 " columns; a table has a label and at least one feature, " + "and fewer than " +
                 std::to_string(kCsvColumnsMax) + " columns");
    }
    columns_ = count;
    data_.features = static_cast<std::uint32_t>(count - 1);
    label_ = count - 1;
    if (layout_.label.empty()) return {};
    if (layout_.header) {
      const auto end = fields_.begin() + static_cast<std::ptrdiff_t>(count);
      const auto found = std::find(fields_.begin(), end, layout_.label);
      if (found != end) {
        label_ = static_cast<std::size_t>(found - fields_.begin());
        return {};
      }
    }
    const std::optional<double> index = number_of(layout_.label);
    if (!index || *index < 0 || *index >= static_cast<double>(count) ||
        *index != std::floor(*index)) {
      return bad("there is no label column \"" + layout_.label.substr(0, 64) +
                 "\"; give a name from the header or a number from 0 to " +
                 std::to_string(count - 1));
    }
    label_ = static_cast<std::size_t>(*index);
    return {};
  }

  Status take_row() {
    if ((std::uint64_t{data_.rows} + 1) * data_.features * sizeof(float) > kDataBytesMax) {
      return bad("the data needs more than " + std::to_string(kDataBytesMax) +
                 " bytes of memory; set \"limit_rows\"");
    }
    for (std::size_t c = 0; c < columns_; ++c) {
      if (c == label_ && !layout_.label_is_number) continue;
      const std::optional<double> v = number_of(fields_[c]);
      if (!v) {
        return bad("column " + std::to_string(c) + ": \"" + fields_[c].substr(0, 40) +
                   "\" is no number" +
                   (data_.rows == 0 && !layout_.header ? "; if the first line names the columns, "
                                                         "set \"header\": true"
                                                       : "; remove the row or fill it in"));
      }
      (c == label_ ? data_.targets : data_.values).push_back(static_cast<float>(*v));
    }
    if (!layout_.label_is_number && layout_.class_count > 0) {
      const std::optional<double> v = number_of(fields_[label_]);
      if (!v || *v < 0 || *v >= layout_.class_count || *v != std::floor(*v)) {
        return bad("the label \"" + fields_[label_].substr(0, 40) +
                   "\" is no whole number from 0 to " + std::to_string(layout_.class_count - 1) +
                   ", as \"class_count\" asks for");
      }
      data_.labels.push_back(static_cast<std::uint16_t>(*v));
    } else if (!layout_.label_is_number) {
      const std::optional<std::uint16_t> id = classes_.add(fields_[label_]);
      if (!id) {
        return bad("more than " + std::to_string(kClassesMax) +
                   " different labels; is \"label\" the right column?");
      }
      data_.labels.push_back(*id);
    }
    ++data_.rows;
    return {};
  }

  ByteSource& source_;
  const CsvLayout& layout_;
  Lines lines_;
  Dataset data_;
  ClassNumbers classes_;
  std::vector<std::string> fields_;
  std::size_t columns_ = 0;
  std::size_t label_ = 0;
};

}  // namespace

Result<Dataset> read_csv(ByteSource& source, const CsvLayout& layout) {
  return Table(source, layout).read();
}

}  // namespace laird::trainers
