#include "datasets/csv.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <vector>

#include "datasets/csv_rows.hpp"

namespace laird::datasets {
namespace {

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
      : source_(source), layout_(layout), rows_(source) {}

  Result<Dataset> read() {
    while (data_.rows < layout_.rows_max) {
      const Result<std::optional<std::size_t>> count = rows_.next();
      LAIRD_TRY(count);
      if (!count->has_value()) break;
      LAIRD_TRY(take_line(**count));
    }
    if (data_.rows == 0) return fail(Code::kInvalid, source_.name() + ": holds no row of data");
    if (!layout_.label_is_number) {
      data_.classes = layout_.class_count > 0 ? layout_.class_count : classes_.finish(data_.labels);
    }
    return std::move(data_);
  }

 private:
  tl::unexpected<Error> bad(const std::string& what) const {
    return fail(Code::kInvalid, source_.name() + ":" + std::to_string(rows_.line()) + ": " + what);
  }

  Status take_line(std::size_t count) {
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
        // Not its text: the path may name any file that the trainer can read.
        return bad("column " + std::to_string(c) + " holds no number" +
                   (data_.rows == 0 && !layout_.header ? "; if the first line names the columns, "
                                                         "set \"header\": true"
                                                       : "; remove the row or fill it in"));
      }
      (c == label_ ? data_.targets : data_.values).push_back(static_cast<float>(*v));
    }
    if (!layout_.label_is_number && layout_.class_count > 0) {
      const std::optional<double> v = number_of(fields_[label_]);
      if (!v || *v < 0 || *v >= layout_.class_count || *v != std::floor(*v)) {
        return bad("the label in column " + std::to_string(label_) +
                   " is no whole number from 0 to " + std::to_string(layout_.class_count - 1) +
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
  CsvRows rows_;
  Dataset data_;
  ClassNumbers classes_;
  const std::vector<std::string>& fields_ = rows_.fields();
  std::size_t columns_ = 0;
  std::size_t label_ = 0;
};

}  // namespace

Result<Dataset> read_csv(ByteSource& source, const CsvLayout& layout) {
  return Table(source, layout).read();
}

}  // namespace laird::datasets
